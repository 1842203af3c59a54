// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// lingering is how long an application serves on after SIGTERM: clients hear of the end of an endpoint a little later.
const lingering = 3 * time.Second

// runApp is the application that stands for every image the node does not know. It answers each request with who it is.
func runApp(args []string) error {
	server, err := listen(args)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	return server.serve(ctx)
}

type server struct {
	http     *http.Server
	listener net.Listener
	leaving  atomic.Bool
}

// listen opens the port and tells the node that requests can come.
func listen(args []string) (*server, error) {
	port := "8080"
	if len(args) > 0 {
		port = args[0]
	}
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return nil, err
	}
	s := &server{listener: listener}
	s.http = &http.Server{Handler: http.HandlerFunc(s.identify), ReadHeaderTimeout: time.Minute}
	ready := os.NewFile(readyFD, "ready")
	ready.Write([]byte{1}) // fails only outside a pod, where nobody waits for it
	ready.Close()
	return s, nil
}

func (s *server) identify(w http.ResponseWriter, r *http.Request) {
	identity := map[string]string{"pod": os.Getenv("POD_NAME"), "namespace": os.Getenv("POD_NAMESPACE")}
	if version := os.Getenv("VERSION"); version != "" {
		identity["version"] = version
	}
	w.Header().Set("Content-Type", "application/json")
	if s.leaving.Load() {
		w.Header().Set("Connection", "close")
	}
	json.NewEncoder(w).Encode(identity) // fails only if the client has gone
}

// serve answers requests until the context ends, then for a while more, and lets the last ones finish.
func (s *server) serve(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.leaving.Store(true)
	time.Sleep(lingering)
	last, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := s.http.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("requests were still open 20 s after the end of the pod began")
	}
	return err
}
