// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/virtual-kubelet/virtual-kubelet/log"
	vklogrus "github.com/virtual-kubelet/virtual-kubelet/log/logrus"
	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// machine is what all pods of the node share.
type machine struct {
	settings
	self    string // this program's own file
	client  kubernetes.Interface
	network *network
	hosts   *hosts
	spawner *spawner
}

func runNode(args []string) error {
	runtime.UnlockOSThread()
	settings, err := parseSettings(args)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	// The library says nothing unless it is given a logger.
	quiet := logrus.New()
	quiet.SetLevel(logrus.ErrorLevel)
	log.L = vklogrus.FromLogrus(logrus.NewEntry(quiet))

	m, err := newMachine(ctx, settings)
	if err != nil {
		return err
	}
	provider := newProvider(m)
	certificates, err := servingConfig(settings)
	if err != nil {
		return err
	}
	node, err := nodeutil.NewNode(settings.node,
		func(config nodeutil.ProviderConfig) (nodeutil.Provider, vknode.NodeProvider, error) {
			describe(config.Node, settings)
			provider.known = config.Pods
			return provider, nil, nil
		},
		nodeutil.WithClient(m.client),
		func(config *nodeutil.NodeConfig) error {
			config.Handler = provider.kubelet()
			config.HTTPListenAddr = net.JoinHostPort(settings.address, strconv.Itoa(settings.port))
			config.TLSConfig = certificates
			config.NumWorkers = 20
			config.InformerResyncPeriod = 10 * time.Minute
			// Else pods with a resourceFieldRef, which every sidecar has, never start.
			config.SkipDownwardAPIResolution = true
			return nil
		})
	if err != nil {
		return fmt.Errorf("the node cannot be set up: %w", err)
	}
	if err := node.Run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func newMachine(ctx context.Context, s settings) (*machine, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig %s cannot be used: %w", s.kubeconfig, err)
	}
	config.QPS, config.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig %s cannot be used: %w", s.kubeconfig, err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the program cannot find its own file: %w", err)
	}
	if err := os.RemoveAll(s.work); err != nil {
		return nil, fmt.Errorf("files of earlier pods cannot be removed: %w", err)
	}
	for _, directory := range []string{s.work, s.traffic} {
		if err := os.MkdirAll(directory, 0o777); err != nil {
			return nil, fmt.Errorf("the directory %s cannot be made: %w", directory, err)
		}
	}
	if err := os.Chmod(s.traffic, 0o777); err != nil {
		return nil, fmt.Errorf("the directory %s cannot be opened to all pods: %w", s.traffic, err)
	}
	network, err := newNetwork(s.podRange)
	if err != nil {
		return nil, err
	}
	m := &machine{settings: s, self: self, client: client, network: network, spawner: newSpawner()}
	m.hosts, err = watchHosts(ctx, client, s.work)
	return m, err
}

func servingConfig(s settings) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return nil, fmt.Errorf("the serving certificate %s cannot be used: %w", s.cert, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if s.ca == "" {
		return config, nil
	}
	authority, err := os.ReadFile(s.ca)
	if err != nil {
		return nil, fmt.Errorf("the authority of client certificates cannot be read: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	config.ClientCAs.AppendCertsFromPEM(authority)
	return config, nil
}

// describe fills in what the node says about itself. It claims more than the machine has: pods ask for processors and
// memory as on a real cluster, and the lab's are small.
func describe(node *corev1.Node, s settings) {
	node.Labels["type"] = "process"
	node.Labels["kubernetes.io/os"] = "linux"
	node.Labels["kubernetes.io/arch"] = runtime.GOARCH
	// No host name: the API server would prefer it, and nobody resolves it.
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: s.address}}
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("100"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("250"),
	}
	node.Status.Allocatable = node.Status.Capacity
	node.Status.NodeInfo.KubeletVersion = s.kubeletVersion
	node.Status.NodeInfo.OperatingSystem = "linux"
	node.Status.NodeInfo.Architecture = runtime.GOARCH
	node.Status.NodeInfo.ContainerRuntimeVersion = "meshnode://process"
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(s.port)
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].Status = corev1.ConditionFalse
	}
}
