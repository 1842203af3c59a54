// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Until a container has started, and then until it is ready, it is asked this often; after that as its spec says.
const eagerPeriod = 250 * time.Millisecond

var (
	errNotServing = errors.New("the probe got no good answer")
	probeClient   = &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
)

// probe carries out the container's probes until the context ends with its process.
func (c *container) probe(ctx context.Context) {
	if probe := c.spec.StartupProbe; probe != nil && !c.awaitStart(ctx, probe) {
		return
	}
	if ctx.Err() != nil {
		return
	}
	if c.spec.ReadinessProbe == nil {
		c.set(func() { c.probedReady = true })
	} else {
		go c.watchReadiness(ctx, c.spec.ReadinessProbe)
	}
	c.up()
	if c.spec.LivenessProbe != nil {
		c.watchLiveness(ctx, c.spec.LivenessProbe)
	}
}

// awaitStart returns true when the startup probe succeeds. Asking more often gives no less time: what counts is the time
// the spec allows.
func (c *container) awaitStart(ctx context.Context, probe *corev1.Probe) bool {
	allowed := seconds(probe.InitialDelaySeconds, 0) + seconds(probe.PeriodSeconds, 10)*time.Duration(atLeast(probe.FailureThreshold, 3))
	deadline := time.Now().Add(allowed)
	for {
		err := c.ask(ctx, probe)
		if err == nil {
			return true
		}
		if time.Now().After(deadline) {
			c.logProbe("startup", err)
			c.restart(ctx, c.killGrace(probe))
			return false
		}
		if !pause(ctx, eagerPeriod) {
			return false
		}
	}
}

func (c *container) watchReadiness(ctx context.Context, probe *corev1.Probe) {
	successes, failures, ready, ever := int32(0), int32(0), false, false
	for {
		if err := c.ask(ctx, probe); err == nil {
			successes, failures = successes+1, 0
			ready = ready || successes >= atLeast(probe.SuccessThreshold, 1)
		} else {
			successes, failures = 0, failures+1
			ready = ready && failures < atLeast(probe.FailureThreshold, 3)
		}
		if ctx.Err() != nil {
			return
		}
		ever = ever || ready
		c.set(func() {
			if ctx.Err() == nil {
				c.probedReady = ready
			}
		})
		period := seconds(probe.PeriodSeconds, 10)
		if !ever {
			period = eagerPeriod
		}
		if !pause(ctx, period) {
			return
		}
	}
}

func (c *container) watchLiveness(ctx context.Context, probe *corev1.Probe) {
	failures := int32(0)
	for wait := seconds(probe.InitialDelaySeconds, 0); pause(ctx, wait); wait = seconds(probe.PeriodSeconds, 10) {
		err := c.ask(ctx, probe)
		if err == nil {
			failures = 0
			continue
		}
		failures++
		if failures >= atLeast(probe.FailureThreshold, 3) {
			c.logProbe("liveness", err)
			c.restart(ctx, c.killGrace(probe))
			return
		}
	}
}

func (c *container) logProbe(kind string, err error) {
	log.Printf("pod %s, container %s: the %s probe fails, it is started again: %v", c.pod.name(), c.spec.Name, kind, err)
}

func (c *container) killGrace(probe *corev1.Probe) time.Duration {
	if probe.TerminationGracePeriodSeconds != nil {
		return time.Duration(*probe.TerminationGracePeriodSeconds) * time.Second
	}
	if limit := c.pod.snapshot().Spec.TerminationGracePeriodSeconds; limit != nil {
		return time.Duration(*limit) * time.Second
	}
	return 30 * time.Second
}

// ask makes one attempt of a probe.
func (c *container) ask(ctx context.Context, probe *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, seconds(probe.TimeoutSeconds, 1))
	defer cancel()
	switch {
	case probe.HTTPGet != nil:
		return c.get(ctx, probe.HTTPGet)
	case probe.TCPSocket != nil:
		return c.connect(ctx, probe.TCPSocket.Host, c.portNumber(probe.TCPSocket.Port))
	case probe.GRPC != nil:
		return c.connect(ctx, "", int(probe.GRPC.Port))
	case probe.Exec != nil:
		return c.exec(ctx, probe.Exec.Command, execStreams{})
	}
	return nil
}

func (c *container) get(ctx context.Context, action *corev1.HTTPGetAction) error {
	host := action.Host
	if host == "" {
		host = c.pod.ip
	}
	scheme := strings.ToLower(string(action.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	url := fmt.Sprintf("%s://%s/%s", scheme, net.JoinHostPort(host, fmt.Sprint(c.portNumber(action.Port))), strings.TrimPrefix(action.Path, "/"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/meshnode")
	for _, header := range action.HTTPHeaders {
		if strings.EqualFold(header.Name, "Host") {
			request.Host = header.Value
		}
		request.Header.Set(header.Name, header.Value)
	}
	response, err := probeClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // only so that the server is not cut off
	if response.StatusCode >= 400 {
		return fmt.Errorf("%w: %s answers %s", errNotServing, url, response.Status)
	}
	return nil
}

func (c *container) connect(ctx context.Context, host string, port int) error {
	if host == "" {
		host = c.pod.ip
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp4", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return err
	}
	return connection.Close()
}

func (c *container) portNumber(port intstr.IntOrString) int {
	if port.Type == intstr.Int {
		return port.IntValue()
	}
	for _, p := range c.spec.Ports {
		if p.Name == port.StrVal {
			return int(p.ContainerPort)
		}
	}
	return port.IntValue()
}

// hook carries out a life cycle hook; one that fails is noted and changes nothing.
func (c *container) hook(ctx context.Context, name string) {
	if c.spec.Lifecycle == nil {
		return
	}
	hook := c.spec.Lifecycle.PostStart
	if name == "preStop" {
		hook = c.spec.Lifecycle.PreStop
	}
	if hook == nil {
		return
	}
	var err error
	switch {
	case hook.Exec != nil:
		err = c.exec(ctx, hook.Exec.Command, execStreams{})
	case hook.HTTPGet != nil:
		err = c.get(ctx, hook.HTTPGet)
	case hook.Sleep != nil:
		pause(ctx, time.Duration(hook.Sleep.Seconds)*time.Second)
	}
	if err != nil && ctx.Err() == nil {
		log.Printf("pod %s, container %s: its %s hook fails: %v", c.pod.name(), c.spec.Name, name, err)
	}
}

func seconds(value, otherwise int32) time.Duration {
	if value <= 0 {
		value = otherwise
	}
	return time.Duration(value) * time.Second
}

func atLeast(value, otherwise int32) int32 {
	if value <= 0 {
		return otherwise
	}
	return value
}
