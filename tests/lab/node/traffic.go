// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// warmUp is how long failures do not count if no request has succeeded yet: a classic sidecar starts beside its
// application, not before it.
const warmUp = 60 * time.Second

// counters are what a traffic client has seen. Failures of the warm-up are counted apart.
type counters struct {
	mu     sync.Mutex
	Sent   int            `json:"sent"`
	Failed int            `json:"failed"`
	Errors map[string]int `json:"errors"`
	WarmUp int            `json:"warm_up"`
	warm   bool
	until  time.Time
}

func newCounters(now time.Time) *counters {
	return &counters{Errors: map[string]int{}, until: now.Add(warmUp)}
}

// add counts a finished request; reason is empty if it succeeded.
func (c *counters) add(reason string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warm = c.warm || reason == "" || now.After(c.until)
	if !c.warm {
		c.WarmUp++
		return
	}
	c.Sent++
	if reason != "" {
		c.Failed++
		c.Errors[reason]++
	}
}

// write replaces the file in one step.
func (c *counters) write(path string) error {
	c.mu.Lock()
	content, err := json.Marshal(c)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return writeFile(path, string(content)+"\n")
}

// runTraffic sends a steady stream of requests to TARGETS, RATE per second in turn, and counts every failure.
func runTraffic(args []string) error {
	targets := strings.FieldsFunc(os.Getenv("TARGETS"), func(r rune) bool { return r == ',' || r == ' ' })
	rate := 10.0
	if text := os.Getenv("RATE"); text != "" {
		var err error
		if rate, err = strconv.ParseFloat(text, 64); err != nil || rate <= 0 {
			return fmt.Errorf("RATE is %q, it has to be a number of requests per second", text)
		}
	}
	server, err := listen(args)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if len(targets) == 0 {
		log.Print("TARGETS is empty, so no request is sent")
		return server.serve(ctx)
	}
	served := make(chan error, 1)
	go func() { served <- server.serve(ctx) }()
	file := filepath.Join(os.Getenv("MESHLAB_TRAFFIC_DIR"), os.Getenv("POD_NAMESPACE")+"."+os.Getenv("POD_NAME")+".json")
	send(ctx, targets, rate, file)
	return <-served
}

// send makes requests until the context ends, then waits for those under way.
func send(ctx context.Context, targets []string, rate float64, file string) {
	count := newCounters(time.Now())
	client := &http.Client{
		Timeout:   15 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 20, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext},
	}
	save := func() {
		if err := count.write(file); err != nil {
			log.Printf("the counters cannot be written: %v", err)
		}
	}
	save()
	tick, store := time.NewTicker(time.Duration(float64(time.Second)/rate)), time.NewTicker(time.Second)
	defer tick.Stop()
	defer store.Stop()
	var open sync.WaitGroup
	for turn := 0; ; {
		select {
		case <-ctx.Done():
			open.Wait()
			save()
			return
		case <-store.C:
			save()
		case <-tick.C:
			target := targets[turn%len(targets)]
			turn++
			open.Add(1)
			go func() {
				defer open.Done()
				reason := request(client, target)
				if reason != "" {
					log.Printf("%s: %s", target, reason)
				}
				count.add(reason, time.Now())
			}()
		}
	}
}

// request returns why a request failed, or nothing.
func request(client *http.Client, target string) string {
	response, err := client.Get(target)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return reasonOf(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	switch {
	case err != nil:
		return reasonOf(err)
	case response.StatusCode != http.StatusOK:
		return fmt.Sprintf("%d %.80s", response.StatusCode, strings.TrimSpace(string(body)))
	}
	return ""
}

// reasonOf is an error without the ports and addresses that make each one different.
func reasonOf(err error) string {
	var timeout net.Error
	var system syscall.Errno
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return "unknown name " + name.Name
	case errors.As(err, &system):
		return system.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	}
	return err.Error()
}
