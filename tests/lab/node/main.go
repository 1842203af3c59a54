// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

// Command meshnode is a Kubernetes node whose pods are processes of this machine, each pod in a network namespace of
// its own. README.md tells what such a pod can do.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

func init() {
	// "meshnode run" changes namespaces and then becomes the container: that only holds for the thread that does it.
	runtime.LockOSThread()
}

func main() {
	command, args := "node", os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	commands := map[string]func([]string) error{
		"node":    runNode,
		"run":     runInside,
		"app":     runApp,
		"traffic": runTraffic,
		"crash":   runCrash,
	}
	run, known := commands[command]
	if !known {
		fmt.Fprintf(os.Stderr, "meshnode has no command %q. Use node (the default), run, app, traffic or crash.\n", command)
		os.Exit(2)
	}
	if err := run(args); err != nil {
		fmt.Fprintf(os.Stderr, "meshnode %s: %v\n", command, err)
		os.Exit(1)
	}
}
