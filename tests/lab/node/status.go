// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status tells the API what the pod is doing now.
func (p *pod) status() corev1.PodStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := corev1.PodStatus{
		HostIP:    p.machine.address,
		HostIPs:   []corev1.HostIP{{IP: p.machine.address}},
		StartTime: &p.started,
	}
	if p.ip != "" {
		s.PodIP, s.PodIPs = p.ip, []corev1.PodIP{{IP: p.ip}}
	}
	initialized, failedInit := true, false
	for _, c := range p.inits {
		s.InitContainerStatuses = append(s.InitContainerStatuses, c.status())
		initialized = initialized && c.initialized()
		failedInit = failedInit || (!c.sidecar && c.failedNow())
	}
	ready := initialized
	for _, c := range p.mains {
		s.ContainerStatuses = append(s.ContainerStatuses, c.status())
		ready = ready && c.isReady()
	}
	for _, c := range p.inits {
		ready = ready && (!c.sidecar || c.isReady())
	}
	s.Phase = phase(p.mains, initialized, failedInit)
	if s.Phase == corev1.PodSucceeded || s.Phase == corev1.PodFailed {
		ready = false
	}
	p.conditions = conditions(p.conditions, metav1.Now(),
		condition{corev1.PodReadyToStartContainers, p.prepared, "", p.trouble},
		condition{corev1.PodInitialized, initialized, "ContainersNotInitialized", ""},
		condition{corev1.ContainersReady, ready, "ContainersNotReady", ""},
		condition{corev1.PodReady, ready, "ContainersNotReady", ""},
	)
	s.Conditions = append(s.Conditions, p.conditions...)
	return s
}

// phase sums up the main containers.
func phase(mains []*container, initialized, failedInit bool) corev1.PodPhase {
	if failedInit {
		return corev1.PodFailed
	}
	ended, failed := 0, 0
	for _, c := range mains {
		if c.neverRan() && !c.ended() {
			return corev1.PodPending
		}
		if c.ended() {
			ended++
			if c.failedNow() {
				failed++
			}
		}
	}
	switch {
	case !initialized && ended == 0:
		return corev1.PodPending
	case ended < len(mains):
		return corev1.PodRunning
	case failed > 0:
		return corev1.PodFailed
	default:
		return corev1.PodSucceeded
	}
}

// condition is one statement about the pod: why and explanation are given while it is not true.
type condition struct {
	kind        corev1.PodConditionType
	holds       bool
	why         string
	explanation string
}

// conditions renews old ones; the time of a condition moves only when its status does.
func conditions(old []corev1.PodCondition, now metav1.Time, wanted ...condition) []corev1.PodCondition {
	renewed := make([]corev1.PodCondition, 0, len(wanted))
	for _, w := range wanted {
		c := corev1.PodCondition{Type: w.kind, Status: corev1.ConditionFalse, Reason: w.why, Message: w.explanation, LastTransitionTime: now}
		if w.holds {
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, "", ""
		}
		for _, before := range old {
			if before.Type == c.Type && before.Status == c.Status {
				c.LastTransitionTime = before.LastTransitionTime
			}
		}
		renewed = append(renewed, c)
	}
	return renewed
}
