// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	slices1 "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// hosts keeps a hosts file per namespace in place of a DNS server: every Service by its cluster IP, which a client's own
// sidecar routes. Headless Services, and istiod's, which proxies call before they can route anything, are named by the
// addresses of their ready endpoints.
type hosts struct {
	root      string
	services  listers.ServiceLister
	endpoints slices1.EndpointSliceLister
	changed   chan struct{}

	mu   sync.Mutex
	used map[string]bool // namespaces that have a file
}

func watchHosts(ctx context.Context, client kubernetes.Interface, work string) (*hosts, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	services, endpoints := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	h := &hosts{
		root:      filepath.Join(work, ".hosts"),
		services:  services.Lister(),
		endpoints: endpoints.Lister(),
		changed:   make(chan struct{}, 1),
		used:      map[string]bool{},
	}
	for _, informer := range []cache.SharedIndexInformer{services.Informer(), endpoints.Informer()} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { h.touch() },
			UpdateFunc: func(any, any) { h.touch() },
			DeleteFunc: func(any) { h.touch() },
		})
		if err != nil {
			return nil, err
		}
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("the API server does not list %v, so names of Services are not known", kind)
		}
	}
	go h.follow(ctx)
	return h, nil
}

func (h *hosts) touch() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// follow writes all files again after a change; changes that come together are one.
func (h *hosts) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.changed:
		}
		if !pause(ctx, 50*time.Millisecond) {
			return
		}
		h.mu.Lock()
		var failed error
		for namespace := range h.used {
			failed = errors.Join(failed, h.write(namespace))
		}
		h.mu.Unlock()
		if failed != nil {
			log.Printf("names of Services cannot be brought up to date: %v", failed)
		}
	}
}

// dir is the directory with the hosts file of a namespace.
func (h *hosts) dir(namespace string) string { return filepath.Join(h.root, namespace) }

// use makes sure that a namespace has its file.
func (h *hosts) use(namespace string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.used[namespace] {
		return nil
	}
	if err := h.write(namespace); err != nil {
		return err
	}
	h.used[namespace] = true
	return nil
}

func (h *hosts) write(namespace string) error {
	services, err := h.services.List(labels.Everything())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.dir(namespace), 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(h.dir(namespace), "hosts"), renderHosts(namespace, services, h.ready))
}

// ready lists the addresses of a Service's ready endpoints.
func (h *hosts) ready(service *corev1.Service) []string {
	selector := labels.SelectorFromSet(labels.Set{discovery.LabelServiceName: service.Name})
	found, err := h.endpoints.EndpointSlices(service.Namespace).List(selector)
	if err != nil {
		return nil
	}
	var addresses []string
	for _, slice := range found {
		if slice.AddressType != discovery.AddressTypeIPv4 {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// renderHosts is the hosts file for pods of a namespace; Services of that namespace also go by their bare name.
func renderHosts(namespace string, services []*corev1.Service, ready func(*corev1.Service) []string) string {
	lines := []string{}
	for _, service := range services {
		addresses := []string{service.Spec.ClusterIP}
		if service.Labels["app"] == "istiod" || service.Spec.ClusterIP == corev1.ClusterIPNone {
			addresses = ready(service)
		}
		qualified := service.Name + "." + service.Namespace
		names := []string{qualified, qualified + ".svc", qualified + ".svc.cluster.local"}
		if service.Namespace == namespace {
			names = append(names, service.Name)
		}
		for _, address := range addresses {
			if address != "" {
				lines = append(lines, address+" "+strings.Join(names, " "))
			}
		}
	}
	slices.Sort(lines)
	return "127.0.0.1 localhost\n" + strings.Join(lines, "\n") + "\n"
}
