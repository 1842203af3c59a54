// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"testing"
	"time"
)

func TestFailuresCountFromTheFirstSuccess(t *testing.T) {
	now := time.Now()
	c := newCounters(now)
	c.add("connection refused", now)
	c.add("", now)
	c.add("timeout", now)
	if c.WarmUp != 1 || c.Sent != 2 || c.Failed != 1 || c.Errors["timeout"] != 1 {
		t.Errorf("%+v", c)
	}
	late := newCounters(now)
	late.add("timeout", now.Add(2*warmUp))
	if late.Sent != 1 || late.Failed != 1 {
		t.Errorf("without any success, after the warm-up: %+v", late)
	}
}
