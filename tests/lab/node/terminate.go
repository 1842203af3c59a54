// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"sync"
	"syscall"
	"time"
)

// end begins the end of the pod. Called again, a shorter grace period wins.
func (p *pod) end(grace time.Duration) {
	p.mu.Lock()
	first := !p.wasDeleted
	p.wasDeleted = true
	p.mu.Unlock()
	p.stop()
	if first {
		close(p.deleted)
	}
	time.AfterFunc(grace, p.kill)
}

func (p *pod) deletionBegan() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wasDeleted
}

// kill ends every container that still runs. Its first process is the init of a PID namespace, so nothing survives it.
func (p *pod) kill() {
	for _, c := range p.containers() {
		c.signal(syscall.SIGKILL)
	}
}

// terminate ends what runs, as a kubelet does: preStop hooks of all containers at once, then main containers, then
// native sidecars, last started first. It returns when no process is left.
func (p *pod) terminate() {
	p.stop()
	limit := time.Duration(30) * time.Second
	if seconds := p.snapshot().Spec.TerminationGracePeriodSeconds; seconds != nil {
		limit = time.Duration(*seconds) * time.Second
	}
	hooks, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	kill := time.AfterFunc(max(limit, time.Second), p.kill)
	defer kill.Stop()

	hooked := map[*container]chan struct{}{}
	for _, c := range p.containers() {
		if !c.launched || c.over() {
			continue
		}
		done := make(chan struct{})
		hooked[c] = done
		go func() {
			defer close(done)
			c.hook(hooks, "preStop")
		}()
	}
	for _, step := range stopOrder(p.inits, p.mains) {
		var wait sync.WaitGroup
		for _, c := range step {
			if hooked[c] == nil {
				continue
			}
			wait.Add(1)
			go func() {
				defer wait.Done()
				select {
				case <-hooked[c]:
				case <-c.finished:
				}
				c.signal(syscall.SIGTERM)
				<-c.finished
			}()
		}
		wait.Wait()
	}
}

// stopOrder returns who is stopped together, step by step: main containers (and an init container that is running),
// then the native sidecars one by one, last first.
func stopOrder(inits, mains []*container) [][]*container {
	first := append([]*container{}, mains...)
	var sidecars [][]*container
	for i := len(inits) - 1; i >= 0; i-- {
		if inits[i].sidecar {
			sidecars = append(sidecars, []*container{inits[i]})
		} else {
			first = append(first, inits[i])
		}
	}
	return append([][]*container{first}, sidecars...)
}
