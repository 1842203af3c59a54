// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"
)

// Log files have a container runtime's format: time, stream, F, text.
const logTime = time.RFC3339Nano

// logWriter writes both streams of a process to one file, line by line.
type logWriter struct {
	mu   sync.Mutex
	file *os.File
	rest []*logStream
}

func newLogWriter(path string) (*logWriter, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &logWriter{file: file}, nil
}

type logStream struct {
	writer *logWriter
	name   string
	open   []byte // a line without its end
}

func (w *logWriter) stream(name string) io.Writer {
	s := &logStream{writer: w, name: name}
	w.rest = append(w.rest, s)
	return s
}

// Write never fails: a process must not stop because its log cannot be written.
func (s *logStream) Write(data []byte) (int, error) {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	s.open = append(s.open, data...)
	for {
		end := bytes.IndexByte(s.open, '\n')
		if end < 0 {
			return len(data), nil
		}
		s.line(s.open[:end])
		s.open = s.open[end+1:]
	}
}

func (s *logStream) line(text []byte) {
	fmt.Fprintf(s.writer.file, "%s %s F %s\n", time.Now().UTC().Format(logTime), s.name, text)
}

func (w *logWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.rest {
		if len(s.open) > 0 {
			s.line(s.open)
		}
	}
	return w.file.Close()
}

// logOptions are the options of "kubectl logs".
type logOptions struct {
	tail       int // -1: all
	limit      int // bytes, 0: no limit
	follow     bool
	previous   bool
	timestamps bool
	since      time.Time
}

func parseLogOptions(query url.Values, now time.Time) (logOptions, error) {
	o := logOptions{tail: -1}
	number := func(name string, target *int) error {
		text := query.Get(name)
		if text == "" {
			return nil
		}
		value, err := strconv.Atoi(text)
		if err != nil || value < 0 {
			return fmt.Errorf("%s is %q, it has to be a number that is not negative", name, text)
		}
		*target = value
		return nil
	}
	age := 0
	for name, target := range map[string]*int{"tailLines": &o.tail, "limitBytes": &o.limit, "sinceSeconds": &age} {
		if err := number(name, target); err != nil {
			return o, err
		}
	}
	if age > 0 {
		o.since = now.Add(-time.Duration(age) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return o, fmt.Errorf("sinceTime is %q, it has to be a time such as 2006-01-02T15:04:05Z", text)
		}
		o.since = since
	}
	for name, target := range map[string]*bool{"follow": &o.follow, "previous": &o.previous, "timestamps": &o.timestamps} {
		*target = query.Get(name) == "true"
	}
	return o, nil
}

// render gives the part of a line of the log file that is shown; ok is false if it is not.
func (o logOptions) render(line []byte) (text []byte, ok bool) {
	fields := bytes.SplitN(line, []byte(" "), 4)
	if len(fields) < 4 {
		return nil, false
	}
	if !o.since.IsZero() {
		at, err := time.Parse(logTime, string(fields[0]))
		if err != nil || at.Before(o.since) {
			return nil, false
		}
	}
	text = append([]byte{}, fields[3]...)
	if o.timestamps {
		text = append(append(append([]byte{}, fields[0]...), ' '), text...)
	}
	return text, true
}

// copyLog writes a container's log; with follow it goes on until the process or the context ends.
func copyLog(ctx context.Context, w io.Writer, path string, o logOptions, ended <-chan struct{}) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := &limited{w: w, left: o.limit, unlimited: o.limit == 0}
	reader := bufio.NewReader(file)
	if err := skipToTail(reader, file, o); err != nil {
		return err
	}
	var part []byte
	over := false
	for {
		more, err := reader.ReadBytes('\n')
		part = append(part, more...)
		if err == nil {
			if text, shown := o.render(bytes.TrimSuffix(part, []byte("\n"))); shown {
				if _, err := out.Write(append(text, '\n')); err != nil {
					return nil // the reader has gone, or has all it asked for
				}
			}
			part = part[:0]
			continue
		}
		if err != io.EOF {
			return err
		}
		if !o.follow || over {
			return nil
		}
		if flusher, can := w.(interface{ Flush() }); can {
			flusher.Flush()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
			over = true // once more, for what was written last
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// skipToTail moves to the first of the last lines that are asked for.
func skipToTail(reader *bufio.Reader, file *os.File, o logOptions) error {
	if o.tail < 0 {
		return nil
	}
	starts, at := []int64{}, int64(0)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if _, shown := o.render(bytes.TrimSuffix(line, []byte("\n"))); shown {
			starts = append(starts, at)
		}
		at += int64(len(line))
	}
	if o.tail == 0 || len(starts) == 0 {
		_, err := file.Seek(at, io.SeekStart)
		reader.Reset(file)
		return err
	}
	_, err := file.Seek(starts[max(0, len(starts)-o.tail)], io.SeekStart)
	reader.Reset(file)
	return err
}

// limited passes on so many bytes and then fails.
type limited struct {
	w         io.Writer
	left      int
	unlimited bool
}

func (l *limited) Write(data []byte) (int, error) {
	if l.unlimited {
		return l.w.Write(data)
	}
	if l.left <= 0 {
		return 0, io.ErrShortWrite
	}
	data = data[:min(len(data), l.left)]
	n, err := l.w.Write(data)
	l.left -= n
	return n, err
}
