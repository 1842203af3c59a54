// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// program is what an image stands for.
type program struct {
	argv       []string // as seen inside; arguments of the container's spec are appended by programFor
	mounts     []mount  // files of the image that are not everyone's
	user       int64    // user and group, unless the spec says otherwise
	tellsReady bool     // writes a byte to file descriptor 4 when it accepts requests
	redirect   *redirect
}

const (
	commandDir = "/usr/local/bin/"
	proxyUser  = 1337
)

// programFor finds the program of a container. Istio's images are known by name, their version by tag; a command that
// this machine has is run as it is; everything else is the small HTTP application.
func programFor(s settings, self string, spec *corev1.Container) (program, error) {
	name, tag := splitImage(spec.Image)
	switch {
	case name == "pilot":
		return istioProgram(s, "pilot-discovery", tag, spec)
	case name == "proxyv2" && len(spec.Args) > 0 && spec.Args[0] == "istio-iptables":
		rules, err := parseRedirect(spec.Args[1:])
		return program{redirect: &rules}, err
	case name == "proxyv2":
		found, err := istioProgram(s, "pilot-agent", tag, spec)
		if err != nil {
			return found, err
		}
		template := filepath.Join(s.share, "envoy_bootstrap-"+tag+".json")
		if _, err := os.Stat(template); err != nil {
			return found, fmt.Errorf("the image %q has no Envoy bootstrap template: %w", spec.Image, err)
		}
		found.mounts = append(found.mounts,
			mount{Source: filepath.Join(s.bin, "envoy"), Target: commandDir + "envoy"},
			mount{Source: template, Target: "/var/lib/istio/envoy/envoy_bootstrap_tmpl.json"})
		return found, nil
	case len(spec.Command) > 0 && isHere(spec.Command[0]):
		return program{argv: append(append([]string{}, spec.Command...), spec.Args...)}, nil
	default:
		command := "app"
		if name == "traffic" {
			command = "traffic"
		}
		own := commandDir + "meshnode"
		return program{argv: []string{own, command, port(spec)}, mounts: []mount{{Source: self, Target: own}}, tellsReady: true}, nil
	}
}

// istioProgram is one of Istio's own programs, in the version that the image's tag names.
func istioProgram(s settings, name, version string, spec *corev1.Container) (program, error) {
	file := filepath.Join(s.bin, name+"-"+version)
	if _, err := os.Stat(file); err != nil {
		return program{}, fmt.Errorf("the image %q is of a version this lab does not have: there is no %s", spec.Image, file)
	}
	argv := append([]string{commandDir + name}, spec.Args...)
	return program{argv: argv, mounts: []mount{{Source: file, Target: commandDir + name}}, user: proxyUser}, nil
}

func crashing(self string) program {
	own := commandDir + "meshnode"
	return program{argv: []string{own, "crash"}, mounts: []mount{{Source: self, Target: own}}}
}

// splitImage returns the last part of an image's name and its tag ("latest" if it has none).
func splitImage(image string) (name, tag string) {
	image, _, _ = strings.Cut(image, "@")
	name = image[strings.LastIndex(image, "/")+1:]
	name, tag, found := strings.Cut(name, ":")
	if !found {
		tag = "latest"
	}
	return name, tag
}

func port(spec *corev1.Container) string {
	for _, p := range spec.Ports {
		if p.ContainerPort != 0 {
			return fmt.Sprint(p.ContainerPort)
		}
	}
	return "8080"
}

// isHere tells whether containers, which see this machine's own commands, have one of this name.
func isHere(command string) bool {
	directories := strings.Split(containerPath, ":")
	if filepath.IsAbs(command) {
		directories = []string{"/"}
	}
	for _, directory := range directories {
		if directory+"/" == commandDir {
			continue
		}
		if info, err := os.Stat(filepath.Join(directory, command)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}
