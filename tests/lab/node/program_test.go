// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const version = "1.31.0-dev.20260423"

func withBinaries(t *testing.T) settings {
	s := settings{bin: t.TempDir(), share: t.TempDir()}
	for _, file := range []string{
		filepath.Join(s.bin, "pilot-discovery-"+version), filepath.Join(s.bin, "pilot-agent-"+version),
		filepath.Join(s.share, "envoy_bootstrap-"+version+".json"),
	} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestImagesOfIstioNameTheirVersion(t *testing.T) {
	s := withBinaries(t)
	pilot, err := programFor(s, "/self", &corev1.Container{Image: "registry.example:5000/istio/pilot:" + version, Args: []string{"discovery"}})
	if err != nil || !slices.Equal(pilot.argv, []string{"/usr/local/bin/pilot-discovery", "discovery"}) || pilot.user != 1337 {
		t.Errorf("pilot: %+v, %v", pilot, err)
	}
	proxy, err := programFor(s, "/self", &corev1.Container{Image: "istio/proxyv2:" + version, Args: []string{"proxy", "sidecar"}})
	if err != nil || !slices.Equal(proxy.argv, []string{"/usr/local/bin/pilot-agent", "proxy", "sidecar"}) || len(proxy.mounts) != 3 {
		t.Errorf("proxyv2: %+v, %v", proxy, err)
	}
	if _, err := programFor(s, "/self", &corev1.Container{Image: "istio/pilot:1.99"}); err == nil || !strings.Contains(err.Error(), "1.99") {
		t.Errorf("an unknown version gives %v", err)
	}
}

func TestIstioInitBecomesRules(t *testing.T) {
	init := &corev1.Container{Image: "istio/proxyv2:" + version, Args: []string{
		"istio-iptables", "-p", "15001", "-z", "15006", "-u", "1337", "-m", "REDIRECT", "-i", "*", "-x", "", "-b", "*", "-d", "15090,15021,15020", "-o", "9411"}}
	found, err := programFor(settings{}, "/self", init)
	if err != nil || found.redirect == nil {
		t.Fatalf("%+v, %v", found, err)
	}
	if r := found.redirect; !slices.Equal(r.inboundExcept, []uint16{15090, 15021, 15020}) || !slices.Equal(r.outboundExcept, []uint16{9411}) {
		t.Errorf("%+v", r)
	}
}

func TestOtherImagesAreTheApplication(t *testing.T) {
	for image, command := range map[string]string{"meshlab/app": "app", "docker.io/library/nginx:1@sha256:0": "app", "meshlab/traffic:x": "traffic"} {
		found, err := programFor(settings{}, "/self", &corev1.Container{Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 9080}}})
		if err != nil || !slices.Equal(found.argv, []string{"/usr/local/bin/meshnode", command, "9080"}) {
			t.Errorf("%s: %+v, %v", image, found, err)
		}
	}
	found, err := programFor(settings{}, "/self", &corev1.Container{Image: "busybox", Command: []string{"sh", "-c"}, Args: []string{"true"}})
	if err != nil || !slices.Equal(found.argv, []string{"sh", "-c", "true"}) {
		t.Errorf("a command of the machine: %+v, %v", found, err)
	}
}
