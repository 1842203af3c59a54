// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	listers "k8s.io/client-go/listers/core/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// provider tells the virtual-kubelet library which pods there are. Each pod runs, reports and ends by itself.
type provider struct {
	machine *machine
	known   listers.PodLister // the pods of this node as the API server has them

	mu   sync.Mutex
	pods map[types.NamespacedName]*pod
}

func newProvider(m *machine) *provider {
	return &provider{machine: m, pods: map[types.NamespacedName]*pod{}}
}

func nameOf(object *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
}

func (v *provider) find(namespace, name string) *pod {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pods[types.NamespacedName{Namespace: namespace, Name: name}]
}

// CreatePod starts a pod. A pod of the same name that was deleted without waiting ends at the same time.
func (v *provider) CreatePod(_ context.Context, object *corev1.Pod) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	name := nameOf(object)
	if old := v.pods[name]; old != nil {
		if old.uid == object.UID {
			return nil
		}
		old.end(time.Second)
	}
	started := newPod(v.machine, object)
	v.pods[name] = started
	go func() {
		started.run()
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.pods[name] == started {
			delete(v.pods, name)
		}
	}()
	return nil
}

// UpdatePod takes over new labels and annotations, the only changes a running pod notices here.
func (v *provider) UpdatePod(ctx context.Context, object *corev1.Pod) error {
	running := v.find(object.Namespace, object.Name)
	if running == nil || running.uid != object.UID {
		return v.CreatePod(ctx, object)
	}
	running.update(object)
	return nil
}

// DeletePod begins the pod's end and returns at once; the pod takes its object out of the API when nothing is left of it.
func (v *provider) DeletePod(_ context.Context, object *corev1.Pod) error {
	if running := v.find(object.Namespace, object.Name); running != nil && running.uid == object.UID {
		running.end(graceOf(object))
	}
	return nil
}

// graceOf tells how long a pod that is being deleted may take; one that is already gone from the API gets a second.
func graceOf(object *corev1.Pod) time.Duration {
	if object.DeletionGracePeriodSeconds == nil {
		return time.Second
	}
	return max(time.Second, time.Duration(*object.DeletionGracePeriodSeconds)*time.Second)
}

// GetPod answers nil for a pod that only shares its name with the one the API server has now: the library asks by
// name and would take the old for the new.
func (v *provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	running := v.find(namespace, name)
	if running == nil {
		return nil, nil
	}
	if current, err := v.known.Pods(namespace).Get(name); err == nil && current.UID != running.uid {
		return nil, nil
	}
	return running.snapshot(), nil
}

func (v *provider) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	object, err := v.GetPod(ctx, namespace, name)
	if object == nil {
		return nil, err
	}
	return &object.Status, nil
}

func (v *provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	objects := make([]*corev1.Pod, 0, len(v.pods))
	for _, running := range v.pods {
		objects = append(objects, running.snapshot())
	}
	return objects, nil
}

// NotifyPods makes the library wait for reports instead of asking every few seconds. The reports themselves are
// patches of our own (publish.go): the library would write the pod's whole metadata with each, and so undo labels
// changed meanwhile.
func (v *provider) NotifyPods(context.Context, func(*corev1.Pod)) {}

var errElsewhere = errors.New("this is served by kubelet.go")

func (v *provider) GetContainerLogs(context.Context, string, string, string, api.ContainerLogOpts) (io.ReadCloser, error) {
	return nil, errElsewhere
}

func (v *provider) RunInContainer(context.Context, string, string, string, []string, api.AttachIO) error {
	return errElsewhere
}

func (v *provider) AttachToContainer(context.Context, string, string, string, api.AttachIO) error {
	return errElsewhere
}

func (v *provider) PortForward(context.Context, string, string, int32, io.ReadWriteCloser) error {
	return errElsewhere
}

func (v *provider) GetStatsSummary(context.Context) (*stats.Summary, error) {
	return &stats.Summary{}, nil
}

func (v *provider) GetMetricsResource(context.Context) ([]*dto.MetricFamily, error) { return nil, nil }
