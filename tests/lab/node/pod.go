// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pod is one pod from its first network interface to its last.
type pod struct {
	machine *machine
	uid     types.UID
	dir     string
	started metav1.Time

	inits []*container // init containers and native sidecars, in the order of the spec
	mains []*container

	stopping context.Context // done as soon as nothing may be started any more
	stop     context.CancelFunc
	deleted  chan struct{} // closed when the API wants the pod gone
	changed  chan struct{} // holds one mark when there is something to report

	mu         sync.Mutex
	object     *corev1.Pod // as the API server has it
	network    *podNetwork
	ip         string
	trouble    string // why no container can start yet, empty if they can
	prepared   bool
	conditions []corev1.PodCondition
	wasDeleted bool
	tokens     map[string]heldToken // by path; used by one goroutine at a time

	publishing sync.Mutex
	published  []byte
}

func newPod(m *machine, object *corev1.Pod) *pod {
	p := &pod{
		machine: m,
		uid:     object.UID,
		dir:     filepath.Join(m.work, fmt.Sprintf("%s.%s.%.8s", object.Namespace, object.Name, object.UID)),
		started: metav1.Now(),
		object:  object.DeepCopy(),
		deleted: make(chan struct{}),
		changed: make(chan struct{}, 1),
		tokens:  map[string]heldToken{},
	}
	p.stopping, p.stop = context.WithCancel(context.Background())
	for i := range p.object.Spec.InitContainers {
		p.inits = append(p.inits, newContainer(p, &p.object.Spec.InitContainers[i], true))
	}
	for i := range p.object.Spec.Containers {
		p.mains = append(p.mains, newContainer(p, &p.object.Spec.Containers[i], false))
	}
	return p
}

func (p *pod) containers() []*container {
	return append(append([]*container{}, p.inits...), p.mains...)
}

func (p *pod) find(name string) *container {
	for _, c := range p.containers() {
		if c.spec.Name == name {
			return c
		}
	}
	return nil
}

// run takes the pod through its whole life and returns when nothing of it is left.
func (p *pod) run() {
	reports, endReports := context.WithCancel(context.Background())
	go p.report(reports)
	if p.prepare() {
		go p.refreshVolumes()
		p.runContainers()
	}
	p.terminate()
	if p.network != nil {
		p.network.detach()
	}
	p.touch()
	<-p.deleted
	endReports()
	p.retire()
	if err := os.RemoveAll(p.dir); err != nil {
		log.Printf("pod %s: its files cannot be removed: %v", p.name(), err)
	}
}

// prepare makes network and volumes, again and again until they are there (a ConfigMap may come later than the pod).
// It returns false when the pod is to end before.
func (p *pod) prepare() bool {
	p.touch()
	for {
		err := p.prepareOnce()
		p.mu.Lock()
		p.prepared, p.trouble = err == nil, ""
		if err != nil {
			p.trouble = err.Error()
		}
		p.mu.Unlock()
		p.touch()
		if err == nil {
			return p.stopping.Err() == nil
		}
		if !pause(p.stopping, 250*time.Millisecond) {
			return false
		}
	}
}

func (p *pod) prepareOnce() error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	if p.network == nil {
		// A node that was started again gives its pods the addresses they had.
		wish, _ := netip.ParseAddr(p.object.Status.PodIP)
		network, err := p.machine.network.attach(wish)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.network, p.ip = network, network.ip.String()
		p.mu.Unlock()
	}
	if err := p.machine.hosts.use(p.object.Namespace); err != nil {
		return err
	}
	return p.writeVolumes(p.stopping)
}

// runContainers starts containers in their order and returns when the pod has done its work, cannot do it, or is to end.
func (p *pod) runContainers() {
	for _, c := range p.inits {
		c.launch()
		if c.sidecar {
			select {
			case <-c.started:
			case <-c.finished:
			case <-p.stopping.Done():
			}
		} else {
			select {
			case <-c.finished:
			case <-p.stopping.Done():
			}
			if c.failed() {
				return
			}
		}
		if p.stopping.Err() != nil {
			return
		}
	}
	for _, c := range p.mains {
		c.launch()
	}
	for _, c := range p.mains {
		select {
		case <-c.finished:
		case <-p.stopping.Done():
			return
		}
	}
}

// update takes over what can change in a running pod.
func (p *pod) update(object *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.object = object.DeepCopy()
}

func (p *pod) snapshot() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object.DeepCopy()
}

func (p *pod) name() string { return p.object.Namespace + "/" + p.object.Name }

// touch says that something about the pod has changed.
func (p *pod) touch() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// pause waits and returns true, or returns false at once when the context ends.
func pause(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
