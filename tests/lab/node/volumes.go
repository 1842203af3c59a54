// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod's volumes are directories under its own, bound into its containers. Volumes with content from the API are
// written at start and looked at again every minute; tokens are renewed when a fifth of their life is left.
const volumeRefresh = time.Minute

func (p *pod) volumeDir(name string) string { return filepath.Join(p.dir, "volumes", name) }

// volumeMounts lists what the container's spec mounts, outer directories first.
func (c *container) volumeMounts() []mount {
	var mounts []mount
	for _, m := range c.spec.VolumeMounts {
		mounts = append(mounts, mount{
			Source:   filepath.Join(c.pod.volumeDir(m.Name), m.SubPath),
			Target:   filepath.Clean(m.MountPath),
			Writable: !m.ReadOnly,
		})
	}
	slices.SortStableFunc(mounts, func(a, b mount) int { return len(a.Target) - len(b.Target) })
	return mounts
}

// refreshVolumes keeps the content of volumes current until the pod ends.
func (p *pod) refreshVolumes() {
	for pause(p.stopping, volumeRefresh) {
		if err := p.writeVolumes(p.stopping); err != nil && p.stopping.Err() == nil {
			log.Printf("pod %s: its volumes cannot be brought up to date, trying again in a minute: %v", p.name(), err)
		}
	}
}

func (p *pod) writeVolumes(ctx context.Context) error {
	object := p.snapshot()
	for _, volume := range object.Spec.Volumes {
		directory := p.volumeDir(volume.Name)
		if err := os.MkdirAll(directory, 0o777); err != nil {
			return err
		}
		// Containers run as users of their own.
		if err := os.Chmod(directory, 0o777); err != nil {
			return err
		}
		files, err := p.volumeFiles(ctx, object, volume.VolumeSource)
		if err != nil {
			return fmt.Errorf("the volume %q cannot be filled: %w", volume.Name, err)
		}
		for name, content := range files {
			if err := writeFile(filepath.Join(directory, name), content); err != nil {
				return err
			}
		}
	}
	return nil
}

// volumeFiles returns the files of a volume by name. An emptyDir has none.
func (p *pod) volumeFiles(ctx context.Context, object *corev1.Pod, source corev1.VolumeSource) (map[string]string, error) {
	m, namespace := p.machine, object.Namespace
	switch {
	case source.ConfigMap != nil:
		data, err := m.configMap(ctx, namespace, source.ConfigMap.Name, isTrue(source.ConfigMap.Optional))
		return selected(data, source.ConfigMap.Items), err
	case source.Secret != nil:
		data, err := m.secret(ctx, namespace, source.Secret.SecretName, isTrue(source.Secret.Optional))
		return selected(data, source.Secret.Items), err
	case source.DownwardAPI != nil:
		return p.downwardFiles(object, source.DownwardAPI.Items)
	case source.Projected != nil:
		files := map[string]string{}
		for _, part := range source.Projected.Sources {
			more, err := p.projectedFiles(ctx, object, part)
			if err != nil {
				return nil, err
			}
			for name, content := range more {
				files[name] = content
			}
		}
		return files, nil
	case source.EmptyDir != nil:
		return nil, nil
	}
	return nil, fmt.Errorf("this node has emptyDir, configMap, secret, downwardAPI and projected volumes only")
}

func (p *pod) projectedFiles(ctx context.Context, object *corev1.Pod, part corev1.VolumeProjection) (map[string]string, error) {
	m, namespace := p.machine, object.Namespace
	switch {
	case part.ConfigMap != nil:
		data, err := m.configMap(ctx, namespace, part.ConfigMap.Name, isTrue(part.ConfigMap.Optional))
		return selected(data, part.ConfigMap.Items), err
	case part.Secret != nil:
		data, err := m.secret(ctx, namespace, part.Secret.Name, isTrue(part.Secret.Optional))
		return selected(data, part.Secret.Items), err
	case part.DownwardAPI != nil:
		return p.downwardFiles(object, part.DownwardAPI.Items)
	case part.ServiceAccountToken != nil:
		token, err := p.token(ctx, object, part.ServiceAccountToken)
		return map[string]string{part.ServiceAccountToken.Path: token}, err
	}
	return nil, fmt.Errorf("this node does not know one of its sources")
}

func (p *pod) downwardFiles(object *corev1.Pod, items []corev1.DownwardAPIVolumeFile) (map[string]string, error) {
	files := map[string]string{}
	for _, item := range items {
		if item.FieldRef == nil {
			continue
		}
		content, err := fieldValue(object, item.FieldRef.FieldPath, p.ip, p.machine.address)
		if err != nil {
			return nil, err
		}
		files[item.Path] = content
	}
	return files, nil
}

// heldToken is a token of the pod's service account with the time to fetch the next.
type heldToken struct {
	value string
	renew time.Time
}

func (p *pod) token(ctx context.Context, object *corev1.Pod, wanted *corev1.ServiceAccountTokenProjection) (string, error) {
	held := p.tokens[wanted.Path]
	if held.value != "" && time.Now().Before(held.renew) {
		return held.value, nil
	}
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		ExpirationSeconds: wanted.ExpirationSeconds,
		BoundObjectRef:    &authv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: object.Name, UID: object.UID},
	}}
	if wanted.Audience != "" {
		request.Spec.Audiences = []string{wanted.Audience}
	}
	issued, err := p.machine.client.CoreV1().ServiceAccounts(object.Namespace).CreateToken(
		ctx, object.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return held.value, err
	}
	life := time.Until(issued.Status.ExpirationTimestamp.Time)
	p.tokens[wanted.Path] = heldToken{issued.Status.Token, time.Now().Add(life * 4 / 5)}
	return issued.Status.Token, nil
}

// selected picks items of a ConfigMap or Secret and gives them their paths; no items mean all.
func selected(data map[string]string, items []corev1.KeyToPath) map[string]string {
	if len(items) == 0 {
		return data
	}
	files := map[string]string{}
	for _, item := range items {
		if content, found := data[item.Key]; found {
			files[item.Path] = content
		}
	}
	return files
}

func isTrue(value *bool) bool { return value != nil && *value }

func unlessMissing(err error, optional bool) error {
	if optional && errors.IsNotFound(err) {
		return nil
	}
	return err
}

// quotedPairs is how labels and annotations appear in a downward API volume.
func quotedPairs(pairs map[string]string) string {
	lines := make([]string, 0, len(pairs))
	for key, value := range pairs {
		lines = append(lines, fmt.Sprintf("%s=%q", key, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// writeFile replaces a file in one step, and leaves it alone if nothing changes.
func writeFile(path, content string) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, []byte(content)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
