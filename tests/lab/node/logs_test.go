// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"path/filepath"
	"testing"
	"time"
)

func TestLogsCanBeCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	writer, err := newLogWriter(path)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(writer.stream("stdout"), "one\ntwo\nthr")
	io.WriteString(writer.stream("stderr"), "four\n")
	writer.Close()
	for query, want := range map[string]string{
		"":                               "one\ntwo\nfour\nthr\n",
		"tailLines=2":                    "four\nthr\n",
		"tailLines=0":                    "",
		"limitBytes=5":                   "one\nt",
		"sinceTime=2999-01-01T00:00:00Z": "",
		"follow=true&tailLines=1":        "thr\n",
	} {
		values, _ := url.ParseQuery(query)
		options, err := parseLogOptions(values, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		close(ended)
		var got bytes.Buffer
		if err := copyLog(context.Background(), &got, path, options, ended); err != nil || got.String() != want {
			t.Errorf("%q gives %q, %v, want %q", query, got.String(), err, want)
		}
	}
}
