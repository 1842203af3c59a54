// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Pods fail on request, by the value of a label.
const (
	failLabel      = "meshlab/fail"
	failNeverReady = "never-ready" // runs, and is never ready
	failImagePull  = "image-pull"  // its image cannot be pulled
	failCrashLoop  = "crash-loop"  // ends with an error soon after each start
)

// fails tells whether this container is the one that fails in the given way: the application, not its sidecar. In a
// gateway, which has nothing but a proxy, it is the proxy.
func fails(object *corev1.Pod, name, way string) bool {
	if object.Labels[failLabel] != way {
		return false
	}
	alone := len(object.Spec.Containers) == 1
	for _, c := range object.Spec.Containers {
		if c.Name == name {
			return alone || name != "istio-proxy"
		}
	}
	return false
}

// runCrash is what a container runs that is to crash.
func runCrash([]string) error {
	time.Sleep(500 * time.Millisecond)
	return fmt.Errorf("this container ends because its pod has the label %s=%s", failLabel, failCrashLoop)
}
