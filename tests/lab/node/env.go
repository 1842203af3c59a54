// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const containerPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// inside describes a run of the container: its arguments, environment, files and user.
func (c *container) inside(found program) (insideSpec, error) {
	p := c.pod
	object := p.snapshot()
	environment, err := c.environment(object)
	if err != nil {
		return insideSpec{}, err
	}
	spec := insideSpec{
		Root:     filepath.Join(c.dir(), "root"),
		Hostname: object.Name,
		Dir:      "/",
		UID:      int(found.user),
		GID:      int(found.user),
		Mounts: append(append([]mount{
			{Source: p.machine.hosts.dir(object.Namespace), Target: hostsDir},
			{Source: p.machine.traffic, Target: trafficDir, Writable: true},
		}, found.mounts...), c.volumeMounts()...),
		Resolv: fmt.Sprintf("search %s.svc.cluster.local svc.cluster.local cluster.local\nnameserver 127.0.0.1\noptions ndots:5\n", object.Namespace),
	}
	for _, argument := range found.argv {
		spec.Args = append(spec.Args, expand(argument, environment.lookup))
	}
	spec.Env = environment.list()
	if c.spec.WorkingDir != "" {
		spec.Dir = c.spec.WorkingDir
	}
	if s := object.Spec.SecurityContext; s != nil {
		set(&spec.UID, s.RunAsUser)
		set(&spec.GID, s.RunAsGroup)
	}
	if s := c.spec.SecurityContext; s != nil {
		set(&spec.UID, s.RunAsUser)
		set(&spec.GID, s.RunAsGroup)
	}
	for _, directory := range []string{c.dir(), spec.Root} {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return spec, err
		}
	}
	return spec, nil
}

func set(target *int, value *int64) {
	if value != nil {
		*target = int(*value)
	}
}

// variables is an environment that remembers the order of its names.
type variables struct {
	names  []string
	values map[string]string
}

func (v *variables) set(name, value string) {
	if _, known := v.values[name]; !known {
		v.names = append(v.names, name)
	}
	v.values[name] = value
}

func (v *variables) setDefault(name, value string) {
	if _, known := v.values[name]; !known {
		v.set(name, value)
	}
}

func (v *variables) lookup(name string) (string, bool) {
	value, known := v.values[name]
	return value, known
}

func (v *variables) list() []string {
	list := make([]string, 0, len(v.names))
	for _, name := range v.names {
		list = append(list, name+"="+v.values[name])
	}
	return list
}

// environment resolves the container's environment as a kubelet does.
func (c *container) environment(object *corev1.Pod) (*variables, error) {
	v := &variables{values: map[string]string{}}
	api := c.pod.machine.api
	v.set("PATH", containerPath)
	v.set("HOME", "/")
	v.set("HOSTNAME", object.Name)
	v.set("KUBERNETES_SERVICE_HOST", api.Hostname())
	v.set("KUBERNETES_SERVICE_PORT", api.Port())
	for _, source := range c.spec.EnvFrom {
		if err := c.environmentFrom(v, object.Namespace, source); err != nil {
			return nil, err
		}
	}
	for _, e := range c.spec.Env {
		value, found, err := c.value(object, e, v)
		if err != nil {
			return nil, fmt.Errorf("the variable %s cannot be resolved: %w", e.Name, err)
		}
		if found {
			v.set(e.Name, value)
		}
	}
	switch name, _ := splitImage(c.spec.Image); name {
	case "pilot":
		// Upstream Envoy has neither of Istio's own filters.
		v.setDefault("PILOT_ENABLE_METADATA_EXCHANGE", "false")
		v.setDefault("PILOT_ENABLE_ALPN_FILTER", "false")
		v.setDefault("CLUSTER_ID", "Kubernetes")
	case "proxyv2":
	default:
		v.setDefault("POD_NAME", object.Name)
		v.setDefault("POD_NAMESPACE", object.Namespace)
		if version := object.Labels["version"]; version != "" {
			v.setDefault("VERSION", version)
		}
		v.set("MESHLAB_TRAFFIC_DIR", trafficDir)
	}
	return v, nil
}

func (c *container) environmentFrom(v *variables, namespace string, source corev1.EnvFromSource) error {
	data := map[string]string{}
	var err error
	optional := false
	switch {
	case source.ConfigMapRef != nil:
		optional = source.ConfigMapRef.Optional != nil && *source.ConfigMapRef.Optional
		data, err = c.pod.machine.configMap(context.Background(), namespace, source.ConfigMapRef.Name, optional)
	case source.SecretRef != nil:
		optional = source.SecretRef.Optional != nil && *source.SecretRef.Optional
		data, err = c.pod.machine.secret(context.Background(), namespace, source.SecretRef.Name, optional)
	}
	for name, value := range data {
		v.set(source.Prefix+name, value)
	}
	return err
}

// value resolves one variable; found is false for a reference to something optional that is not there.
func (c *container) value(object *corev1.Pod, e corev1.EnvVar, v *variables) (value string, found bool, err error) {
	from := e.ValueFrom
	switch {
	case from == nil:
		return expand(e.Value, v.lookup), true, nil
	case from.FieldRef != nil:
		value, err = fieldValue(object, from.FieldRef.FieldPath, c.pod.ip, c.pod.machine.address)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = resourceValue(object, c.spec, from.ResourceFieldRef)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		optional := ref.Optional != nil && *ref.Optional
		data, err := c.pod.machine.configMap(context.Background(), object.Namespace, ref.Name, optional)
		return keyOf(data, ref.Key, optional, err)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		optional := ref.Optional != nil && *ref.Optional
		data, err := c.pod.machine.secret(context.Background(), object.Namespace, ref.Name, optional)
		return keyOf(data, ref.Key, optional, err)
	}
	return "", false, fmt.Errorf("this node does not know such a source")
}

func keyOf(data map[string]string, key string, optional bool, err error) (string, bool, error) {
	value, found := data[key]
	if err == nil && !found && !optional {
		err = fmt.Errorf("there is no key %q", key)
	}
	return value, found, err
}

// fieldValue is the value of a fieldRef.
func fieldValue(object *corev1.Pod, path, ip, host string) (string, error) {
	if field, key, found := strings.Cut(path, "['"); found {
		key = strings.TrimSuffix(key, "']")
		switch field {
		case "metadata.labels":
			return object.Labels[key], nil
		case "metadata.annotations":
			return object.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return object.Name, nil
	case "metadata.namespace":
		return object.Namespace, nil
	case "metadata.uid":
		return string(object.UID), nil
	case "metadata.labels":
		return quotedPairs(object.Labels), nil
	case "metadata.annotations":
		return quotedPairs(object.Annotations), nil
	case "spec.nodeName":
		return object.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return object.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return ip, nil
	case "status.hostIP", "status.hostIPs":
		return host, nil
	}
	return "", fmt.Errorf("this node does not know the field %q", path)
}

// resourceValue is the value of a resourceFieldRef, rounded up to whole divisors. Without a limit it is what the
// machine has.
func resourceValue(object *corev1.Pod, spec *corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	if ref.ContainerName != "" {
		for _, list := range [][]corev1.Container{object.Spec.InitContainers, object.Spec.Containers} {
			for i := range list {
				if list[i].Name == ref.ContainerName {
					spec = &list[i]
				}
			}
		}
	}
	kind, name, found := strings.Cut(ref.Resource, ".")
	lists := map[string]corev1.ResourceList{"limits": spec.Resources.Limits, "requests": spec.Resources.Requests}
	list, known := lists[kind]
	if !found || !known {
		return "", fmt.Errorf("this node does not know the resource %q", ref.Resource)
	}
	quantity, given := list[corev1.ResourceName(name)]
	if !given && kind == "limits" {
		quantity = machineHas(name)
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	amount := math.Ceil(quantity.AsApproximateFloat64() / divisor.AsApproximateFloat64())
	return strconv.FormatInt(int64(amount), 10), nil
}

func machineHas(name string) resource.Quantity {
	switch name {
	case "cpu":
		return *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI)
	case "memory":
		var info unix.Sysinfo_t
		if unix.Sysinfo(&info) == nil {
			return *resource.NewQuantity(int64(info.Totalram)*int64(info.Unit), resource.BinarySI)
		}
	}
	return resource.Quantity{}
}

// expand replaces $(NAME) by its value, leaves names that have none, and turns $$ into $.
func expand(text string, lookup func(string) (string, bool)) string {
	var result strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			result.WriteByte(text[i])
			continue
		}
		switch text[i+1] {
		case '$':
			result.WriteByte('$')
			i++
		case '(':
			end := strings.IndexByte(text[i:], ')')
			if end < 0 {
				result.WriteString(text[i:])
				return result.String()
			}
			reference := text[i : i+end+1]
			if value, known := lookup(reference[2 : len(reference)-1]); known {
				result.WriteString(value)
			} else {
				result.WriteString(reference)
			}
			i += end
		default:
			result.WriteByte('$')
		}
	}
	return result.String()
}

func (m *machine) configMap(ctx context.Context, namespace, name string, optional bool) (map[string]string, error) {
	object, err := m.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unlessMissing(err, optional)
	}
	data := map[string]string{}
	for key, value := range object.Data {
		data[key] = value
	}
	for key, value := range object.BinaryData {
		data[key] = string(value)
	}
	return data, nil
}

func (m *machine) secret(ctx context.Context, namespace, name string, optional bool) (map[string]string, error) {
	object, err := m.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unlessMissing(err, optional)
	}
	data := map[string]string{}
	for key, value := range object.Data {
		data[key] = string(value)
	}
	return data, nil
}
