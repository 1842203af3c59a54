//go:build tools

// Package tools names the program the lab builds, so that go.mod pins it.
package tools

import _ "go.etcd.io/etcd/server/v3"
