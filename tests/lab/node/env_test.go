// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExpandReplacesOnlyWhatItKnows(t *testing.T) {
	known := func(name string) (string, bool) {
		value, found := map[string]string{"POD_NAMESPACE": "shop", "EMPTY": ""}[name]
		return value, found
	}
	for text, want := range map[string]string{
		"$(POD_NAMESPACE).svc.cluster.local": "shop.svc.cluster.local",
		"a$(EMPTY)b":                         "ab",
		"$(UNKNOWN)":                         "$(UNKNOWN)",
		"$$(POD_NAMESPACE)":                  "$(POD_NAMESPACE)",
		"$(POD_NAMESPACE":                    "$(POD_NAMESPACE",
		"costs 5$":                           "costs 5$",
		"$HOME":                              "$HOME",
	} {
		if got := expand(text, known); got != want {
			t.Errorf("expand(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFieldValueKnowsSingleLabels(t *testing.T) {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"app": "web", "v": "1"}}}
	for path, want := range map[string]string{
		"metadata.name":          "web",
		"metadata.labels['app']": "web",
		"metadata.labels":        "app=\"web\"\nv=\"1\"",
		"status.podIP":           "10.246.0.9",
		"status.hostIP":          "127.0.0.1",
	} {
		if got, err := fieldValue(object, path, "10.246.0.9", "127.0.0.1"); err != nil || got != want {
			t.Errorf("fieldValue(%q) = %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := fieldValue(object, "status.phase", "", ""); err == nil {
		t.Error("an unknown field gives no error")
	}
}

func TestResourceValueRoundsUp(t *testing.T) {
	spec := &corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
		"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi"),
	}}}
	for name, want := range map[string]string{"limits.cpu": "2", "limits.memory": "1073741824", "requests.cpu": "0"} {
		ref := &corev1.ResourceFieldSelector{Resource: name, Divisor: resource.MustParse("1")}
		if got, err := resourceValue(&corev1.Pod{}, spec, ref); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", name, got, err, want)
		}
	}
}
