// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHostsNameIstiodByItsEndpoints(t *testing.T) {
	service := func(namespace, name, ip string, labels map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Spec: corev1.ServiceSpec{ClusterIP: ip}}
	}
	services := []*corev1.Service{
		service("shop", "web", "10.96.0.7", nil),
		service("pay", "api", "10.96.0.8", nil),
		service("istio-system", "istiod", "10.96.0.9", map[string]string{"app": "istiod"}),
		service("shop", "none", corev1.ClusterIPNone, nil),
	}
	ready := func(s *corev1.Service) []string {
		if s.Name == "istiod" {
			return []string{"10.246.0.1", "10.246.0.2"}
		}
		return nil
	}
	want := `127.0.0.1 localhost
10.246.0.1 istiod.istio-system istiod.istio-system.svc istiod.istio-system.svc.cluster.local
10.246.0.2 istiod.istio-system istiod.istio-system.svc istiod.istio-system.svc.cluster.local
10.96.0.7 web.shop web.shop.svc web.shop.svc.cluster.local web
10.96.0.8 api.pay api.pay.svc api.pay.svc.cluster.local
`
	if got := renderHosts("shop", services, ready); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
