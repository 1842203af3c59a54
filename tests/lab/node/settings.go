// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
)

// settings are the flags of "meshnode node".
type settings struct {
	kubeconfig     string
	node           string
	kubeletVersion string
	bin            string // directory with pilot-discovery-V, pilot-agent-V and envoy
	share          string // directory with envoy_bootstrap-V.json
	work           string // directory for the files of pods; emptied at start
	traffic        string // directory for the counters of traffic clients
	cert, key, ca  string // the node's serving certificate, and the authority of those who may call it
	address        string
	port           int
	podRange       netip.Prefix
	api            *url.URL // the API server as pods reach it
}

func parseSettings(args []string) (settings, error) {
	var s settings
	var podCIDR, api string
	flags := flag.NewFlagSet("meshnode node", flag.ContinueOnError)
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig of the node")
	flags.StringVar(&s.node, "node", "process-0", "name of the node")
	flags.StringVar(&s.kubeletVersion, "kubelet-version", "v1.35.4", "version the node reports; from v1.33 on Istio injects native sidecars")
	flags.StringVar(&s.bin, "bin", "", "directory with pilot-discovery-V, pilot-agent-V and envoy")
	flags.StringVar(&s.share, "share", "", "directory with envoy_bootstrap-V.json")
	flags.StringVar(&s.work, "work", "", "directory for the files of pods, emptied at start")
	flags.StringVar(&s.traffic, "traffic", "", "directory for the counters of traffic clients (default: traffic beside --work)")
	flags.StringVar(&s.cert, "cert", "", "serving certificate of the node")
	flags.StringVar(&s.key, "key", "", "key of the serving certificate")
	flags.StringVar(&s.ca, "ca", "", "authority of client certificates; a certificate is checked when the caller sends one")
	flags.StringVar(&s.address, "address", "127.0.0.1", "address to serve on; only the API server needs to reach it")
	flags.IntVar(&s.port, "port", 10260, "port to serve on")
	flags.StringVar(&podCIDR, "pod-cidr", "10.246.0.0/16", "range of pod addresses")
	flags.StringVar(&api, "api", "https://169.254.1.1:6443", "URL of the API server as pods reach it")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	for name, value := range map[string]string{"kubeconfig": s.kubeconfig, "bin": s.bin, "share": s.share, "work": s.work, "cert": s.cert, "key": s.key} {
		if value == "" {
			return s, fmt.Errorf("--%s is missing; see meshnode node --help", name)
		}
	}
	var errs []error
	for _, path := range []*string{&s.bin, &s.share, &s.work} {
		absolute, err := filepath.Abs(*path)
		errs = append(errs, err)
		*path = absolute
	}
	if s.traffic == "" {
		s.traffic = filepath.Join(filepath.Dir(s.work), "traffic")
	}
	var err error
	if s.podRange, err = netip.ParsePrefix(podCIDR); err != nil {
		errs = append(errs, fmt.Errorf("--pod-cidr %q is not a range of addresses: %w", podCIDR, err))
	}
	if s.api, err = url.Parse(api); err != nil || s.api.Hostname() == "" {
		errs = append(errs, fmt.Errorf("--api %q is not a URL such as https://169.254.1.1:6443", api))
	}
	return s, errors.Join(errs...)
}
