// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func named(name string, init, sidecar bool) *container {
	return &container{spec: &corev1.Container{Name: name}, init: init, sidecar: sidecar}
}

func TestSidecarsStopAfterMainContainersLastFirst(t *testing.T) {
	inits := []*container{named("proxy", true, true), named("setup", true, false), named("logger", true, true)}
	mains := []*container{named("a", false, false), named("b", false, false)}
	var got [][]string
	for _, step := range stopOrder(inits, mains) {
		var names []string
		for _, c := range step {
			names = append(names, c.spec.Name)
		}
		got = append(got, names)
	}
	want := [][]string{{"a", "b", "setup"}, {"logger"}, {"proxy"}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if len(got[i]) != len(want[i]) || got[i][0] != want[i][0] {
			t.Errorf("step %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestConditionsKeepTheirTimeUntilTheyChange(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	before := conditions(nil, early, condition{corev1.PodReady, false, "ContainersNotReady", ""})
	same := conditions(before, late, condition{corev1.PodReady, false, "ContainersNotReady", ""})
	turned := conditions(before, late, condition{corev1.PodReady, true, "ContainersNotReady", ""})
	if !same[0].LastTransitionTime.Equal(&early) || !turned[0].LastTransitionTime.Equal(&late) || turned[0].Reason != "" {
		t.Errorf("same %v, turned %v", same, turned)
	}
}

func TestPhaseFollowsMainContainers(t *testing.T) {
	over := func(code int32) *container {
		c := named("c", false, false)
		c.gone, c.ran = true, true
		c.state.Terminated = &corev1.ContainerStateTerminated{ExitCode: code}
		return c
	}
	running := named("c", false, false)
	running.ran = true
	for _, test := range []struct {
		mains       []*container
		initialized bool
		want        corev1.PodPhase
	}{
		{[]*container{named("c", false, false)}, false, corev1.PodPending},
		{[]*container{running, named("c", false, false)}, true, corev1.PodPending},
		{[]*container{running}, true, corev1.PodRunning},
		{[]*container{running, over(1)}, true, corev1.PodRunning},
		{[]*container{over(0), over(0)}, true, corev1.PodSucceeded},
		{[]*container{over(0), over(1)}, true, corev1.PodFailed},
	} {
		if got := phase(test.mains, test.initialized, false); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestBackoffDoublesAndForgets(t *testing.T) {
	var b backoff
	for _, want := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second} {
		if got := b.next(time.Second); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := b.next(time.Hour); got != 0 {
		t.Errorf("after a long run: %s", got)
	}
}

func TestTheApplicationFailsNotItsSidecar(t *testing.T) {
	labels := metav1.ObjectMeta{Labels: map[string]string{failLabel: failNeverReady}}
	meshed := &corev1.Pod{ObjectMeta: labels, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}, {Name: "istio-proxy"}}}}
	gateway := &corev1.Pod{ObjectMeta: labels, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "istio-proxy"}}}}
	if !fails(meshed, "app", failNeverReady) || fails(meshed, "istio-proxy", failNeverReady) || fails(meshed, "app", failCrashLoop) {
		t.Error("in a pod with a sidecar")
	}
	if !fails(gateway, "istio-proxy", failNeverReady) {
		t.Error("in a gateway")
	}
}
