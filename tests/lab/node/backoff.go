// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import "time"

const (
	firstDelay  = 10 * time.Second
	longest     = 5 * time.Minute
	forgetAfter = 10 * time.Minute
)

// backoff gives the delays before restarts: none before the first, then 10 s, doubled up to 5 min. A run of 10 min or
// more starts it anew. The zero value is ready to use.
type backoff struct {
	used  bool
	delay time.Duration
}

func (b *backoff) next(ran time.Duration) time.Duration {
	if ran >= forgetAfter {
		*b = backoff{}
	}
	if !b.used {
		b.used = true
		return 0
	}
	b.delay = min(max(firstDelay, 2*b.delay), longest)
	return b.delay
}
