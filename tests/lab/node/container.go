// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// container is one container of a pod, over all its restarts.
type container struct {
	pod      *pod
	spec     *corev1.Container
	init     bool // listed among the init containers
	sidecar  bool // a native sidecar: an init container that is always restarted
	launched bool

	started  chan struct{} // closed when it has started for the first time
	finished chan struct{} // closed when it will not run again

	starting sync.Mutex // held while a process is started, so that the end of the pod does not miss it
	process  *process   // guarded by starting

	// Guarded by the pod's mutex.
	state       corev1.ContainerState
	last        corev1.ContainerState
	restarts    int32
	isUp        bool // running, postStart and startup probe done
	probedReady bool // the readiness probe says so, or there is none
	gone        bool // will not run again
	ran         bool
	image       string
}

func newContainer(p *pod, spec *corev1.Container, init bool) *container {
	return &container{
		pod:      p,
		spec:     spec,
		init:     init,
		sidecar:  init && spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways,
		started:  make(chan struct{}),
		finished: make(chan struct{}),
		state:    waiting("PodInitializing", ""),
	}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func (c *container) dir() string { return filepath.Join(c.pod.dir, c.spec.Name) }

// logFile is where the output of the n-th run goes, counted from 0.
func (c *container) logFile(run int32) string {
	return filepath.Join(c.dir(), fmt.Sprintf("%d.log", run))
}

func (c *container) launch() {
	c.launched = true
	go c.run()
}

// run starts the container and starts it again as its restart policy says, until the pod stops.
func (c *container) run() {
	defer func() {
		c.set(func() { c.gone = true })
		close(c.finished)
	}()
	var delays backoff
	for {
		program, ok := c.pull()
		if !ok {
			return
		}
		began := time.Now()
		code := c.runOnce(program)
		if c.pod.stopping.Err() != nil || !c.mayRestart(code) {
			return
		}
		delay := delays.next(time.Since(began))
		c.set(func() {
			c.last = c.state
			if delay > 0 {
				c.state = waiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", delay, c.spec.Name, c.pod.name()))
			}
		})
		if !pause(c.pod.stopping, delay) {
			c.set(func() { c.state = c.last })
			return
		}
		c.set(func() { c.restarts++ })
	}
}

func (c *container) mayRestart(code int) bool {
	if c.sidecar {
		return true
	}
	switch c.pod.object.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	default:
		return !c.init || code != 0
	}
}

// pull finds the program behind the image, and waits as long as there is none, as for an image that cannot be pulled.
func (c *container) pull() (program, bool) {
	var delays backoff
	delays.next(0)
	for {
		found, err := programFor(c.pod.machine.settings, c.pod.machine.self, c.spec)
		if fails(c.pod.snapshot(), c.spec.Name, failImagePull) {
			err = fmt.Errorf("the image %q cannot be pulled: label %s=%s", c.spec.Image, failLabel, failImagePull)
		}
		if err == nil {
			if fails(c.pod.snapshot(), c.spec.Name, failCrashLoop) {
				found = crashing(c.pod.machine.self)
			}
			return found, true
		}
		c.set(func() { c.state = waiting("ErrImagePull", err.Error()) })
		if !pause(c.pod.stopping, time.Second) {
			return program{}, false
		}
		c.set(func() {
			c.state = waiting("ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: %v", c.spec.Image, err))
		})
		if !pause(c.pod.stopping, delays.next(0)) {
			return program{}, false
		}
	}
}

// runOnce runs the program until it ends and returns its exit code.
func (c *container) runOnce(found program) int {
	began := metav1.Now()
	if found.redirect != nil {
		code, message := 0, ""
		if err := c.pod.network.redirect(*found.redirect); err != nil {
			code, message = 1, err.Error()
			log.Printf("pod %s: %v", c.pod.name(), err)
		}
		c.terminated(began, exit{code: code, at: time.Now()}, message)
		return code
	}
	ready, err := c.start(found)
	if err != nil {
		if c.pod.stopping.Err() == nil {
			log.Printf("pod %s, container %s: %v", c.pod.name(), c.spec.Name, err)
		}
		c.terminated(began, exit{code: 128, at: time.Now()}, err.Error())
		return 128
	}
	running, done := context.WithCancel(context.Background())
	go c.serve(running, ready)
	<-c.process.done
	done()
	c.terminated(began, c.process.exit, "")
	return c.process.exit.code
}

// start makes the process. What it returns can be read as soon as the program accepts requests, if it is one that tells.
func (c *container) start(found program) (io.ReadCloser, error) {
	c.starting.Lock()
	defer c.starting.Unlock()
	if err := c.pod.stopping.Err(); err != nil {
		return nil, fmt.Errorf("the pod is ending")
	}
	inside, err := c.inside(found)
	if err != nil {
		return nil, err
	}
	var run int32
	c.set(func() { run = c.restarts })
	// One log of an earlier run is kept, for "kubectl logs --previous".
	os.Remove(c.logFile(run - 2))
	process, ready, err := c.pod.machine.spawn(inside, c.pod.network, c.logFile(run), found.tellsReady)
	if err != nil {
		return nil, err
	}
	c.process = process
	return ready, nil
}

// serve marks the container as running and watches over it until the context ends with the process.
func (c *container) serve(ctx context.Context, ready io.ReadCloser) {
	if ready != nil {
		// Ends with a byte from the program or with the program.
		_, err := ready.Read(make([]byte, 1))
		ready.Close()
		if err != nil {
			return
		}
	}
	c.set(func() {
		if ctx.Err() == nil {
			c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
			c.ran = true
		}
	})
	c.hook(ctx, "postStart")
	c.probe(ctx)
}

// up says that the container has started: postStart and startup probe are done.
func (c *container) up() {
	c.set(func() {
		c.isUp = true
		select {
		case <-c.started:
		default:
			close(c.started)
		}
	})
}

func (c *container) terminated(began metav1.Time, e exit, message string) {
	reason := "Completed"
	if e.code != 0 {
		reason = "Error"
	}
	c.set(func() {
		if c.state.Running != nil {
			began = c.state.Running.StartedAt
		}
		c.isUp, c.probedReady = false, false
		c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: int32(e.code), Signal: int32(e.signal), Reason: reason, Message: message,
			StartedAt: began, FinishedAt: metav1.NewTime(e.at),
		}}
	})
}

// set changes what the container reports.
func (c *container) set(change func()) {
	c.pod.mu.Lock()
	change()
	c.pod.mu.Unlock()
	c.pod.touch()
}

func (c *container) signal(s syscall.Signal) {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.process != nil {
		c.process.signal(s)
	}
}

// restart ends the process after a failed probe; run then starts the next one.
func (c *container) restart(ctx context.Context, grace time.Duration) {
	c.signal(syscall.SIGTERM)
	if pause(ctx, grace) {
		c.signal(syscall.SIGKILL)
	}
}

func (c *container) over() bool {
	select {
	case <-c.finished:
		return true
	default:
		return false
	}
}

// failed tells, after the container has finished, that it did not succeed.
func (c *container) failed() bool {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	return c.failedNow()
}

// The following are called with the pod's mutex held.

func (c *container) neverRan() bool { return !c.ran && c.last.Terminated == nil }

func (c *container) ended() bool { return c.gone }

func (c *container) failedNow() bool {
	return c.gone && (c.state.Terminated == nil || c.state.Terminated.ExitCode != 0)
}

// initialized tells whether an init container no longer holds up those after it.
func (c *container) initialized() bool {
	if c.sidecar {
		return c.isUp || c.gone || c.ran && c.last.Terminated != nil
	}
	return c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
}

func (c *container) isReady() bool {
	if c.init && !c.sidecar {
		return c.initialized()
	}
	return c.isUp && c.probedReady && !fails(c.pod.object, c.spec.Name, failNeverReady)
}

func (c *container) status() corev1.ContainerStatus {
	up := c.isUp
	s := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: "meshnode://" + c.spec.Image,
		State: c.state, LastTerminationState: c.last, RestartCount: c.restarts,
		Ready: c.isReady(), Started: &up,
	}
	if c.ran || c.state.Terminated != nil {
		s.ContainerID = fmt.Sprintf("meshnode://%s/%s/%d", c.pod.uid, c.spec.Name, c.restarts)
	}
	return s
}
