// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// report writes the pod's status to the API server whenever it has changed, until the context ends.
func (p *pod) report(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		}
		for p.publish(ctx) != nil && pause(ctx, 500*time.Millisecond) {
		}
	}
}

// publish writes the status as it is now, unless the API server has it already. Only the status is written, and of
// its conditions only ours.
func (p *pod) publish(ctx context.Context) error {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	patch, err := statusPatch(p.uid, p.status())
	if err != nil {
		return err
	}
	if bytes.Equal(patch, p.published) {
		return nil
	}
	_, err = p.machine.client.CoreV1().Pods(p.object.Namespace).Patch(
		ctx, p.object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if errors.IsNotFound(err) || errors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid) && p.deletionBegan() {
		// The pod is gone, or its name now belongs to another one, whose uid is not ours: there is nobody to report to.
		return nil
	}
	if err != nil {
		if ctx.Err() == nil {
			log.Printf("pod %s: its status cannot be written, trying again: %v", p.name(), err)
		}
		return err
	}
	p.published = patch
	return nil
}

func statusPatch(uid types.UID, status corev1.PodStatus) ([]byte, error) {
	encoded, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, err
	}
	if addresses, ok := fields["podIPs"].([]any); ok {
		fields["podIPs"] = append(addresses, map[string]any{"$patch": "replace"})
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": fields})
}

// retire writes the last status and takes the pod out of the API; the library itself would wait for the whole grace
// period.
func (p *pod) retire() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for p.publish(ctx) != nil && pause(ctx, 500*time.Millisecond) {
	}
	for ctx.Err() == nil {
		options := metav1.NewDeleteOptions(0)
		options.Preconditions = metav1.NewUIDPreconditions(string(p.uid))
		err := p.machine.client.CoreV1().Pods(p.object.Namespace).Delete(ctx, p.object.Name, *options)
		if err == nil || errors.IsNotFound(err) || errors.IsConflict(err) {
			return
		}
		log.Printf("pod %s: it cannot be taken out of the API, trying again: %v", p.name(), err)
		pause(ctx, 500*time.Millisecond)
	}
}
