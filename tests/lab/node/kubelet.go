// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	protocols "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubelet/pkg/cri/streaming/portforward"
	serveexec "k8s.io/kubelet/pkg/cri/streaming/remotecommand"
)

const (
	streamIdle   = 4 * time.Hour
	streamCreate = 30 * time.Second
)

// kubelet serves what the API server asks of a node: logs, exec and port-forward. The last two are Kubernetes' own
// handlers, so that they work by SPDY and by websocket; the library's port-forward has no ports on a websocket.
func (v *provider) kubelet() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	routes.HandleFunc("GET /pods", v.servePods)
	routes.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", v.serveLogs)
	routes.HandleFunc("/exec/{namespace}/{pod}/{container}", v.serveExec)
	routes.HandleFunc("/portForward/{namespace}/{pod}", v.servePortForward)
	return routes
}

func (v *provider) servePods(w http.ResponseWriter, r *http.Request) {
	objects, err := v.GetPods(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	for _, object := range objects {
		list.Items = append(list.Items, *object)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(list); err != nil {
		log.Printf("the list of pods cannot be sent: %v", err)
	}
}

// lookup finds the pod, and the container if one is named, of a request; it answers the request itself if there is none.
func (v *provider) lookup(w http.ResponseWriter, r *http.Request) (*pod, *container, bool) {
	namespace, name, wanted := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	p := v.find(namespace, name)
	if p == nil {
		http.Error(w, fmt.Sprintf("the pod %s/%s is not on this node", namespace, name), http.StatusNotFound)
		return nil, nil, false
	}
	if wanted == "" {
		return p, nil, true
	}
	c := p.find(wanted)
	if c == nil {
		http.Error(w, fmt.Sprintf("the pod %s/%s has no container %q", namespace, name, wanted), http.StatusNotFound)
		return nil, nil, false
	}
	return p, c, true
}

func (v *provider) serveLogs(w http.ResponseWriter, r *http.Request) {
	_, c, found := v.lookup(w, r)
	if !found {
		return
	}
	options, err := parseLogOptions(r.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.starting.Lock()
	process := c.process
	c.starting.Unlock()
	c.pod.mu.Lock()
	run, state := c.restarts, c.state
	c.pod.mu.Unlock()
	if options.previous {
		run--
	}
	path := c.logFile(run)
	if _, err := os.Stat(path); err != nil {
		// While a container waits for its restart, its last run is the one to read.
		if path = c.logFile(run - 1); options.previous || run == 0 || state.Waiting == nil {
			path = ""
		}
	}
	if path == "" || process == nil {
		reason := "it has not run"
		if options.previous {
			reason = "it has not been restarted"
		} else if state.Waiting != nil {
			reason = "it is waiting to start: " + state.Waiting.Reason
		}
		if path == "" && process != nil && !options.previous || process == nil && state.Terminated != nil {
			return // it ran without a process, as istio-init does: an empty log
		}
		http.Error(w, fmt.Sprintf("container %q in pod %q has no such log: %s", c.spec.Name, r.PathValue("pod"), reason), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	if err := copyLog(r.Context(), flushing{w, http.NewResponseController(w)}, path, options, process.done); err != nil {
		log.Printf("the log %s cannot be sent: %v", path, err)
	}
}

// flushing sends what was written on request.
type flushing struct {
	io.Writer
	control *http.ResponseController
}

func (f flushing) Flush() {
	f.control.Flush() // a connection that cannot flush only makes the reader wait
}

func (v *provider) serveExec(w http.ResponseWriter, r *http.Request) {
	_, c, found := v.lookup(w, r)
	if !found {
		return
	}
	options, err := serveexec.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	serveexec.ServeExec(w, r, containerExec{c}, r.PathValue("pod"), "", c.spec.Name, r.URL.Query()["command"], options,
		streamIdle, streamCreate, protocols.SupportedStreamingProtocols)
}

type containerExec struct{ container *container }

// ExecInContainer implements Kubernetes' interface for exec.
func (e containerExec) ExecInContainer(ctx context.Context, _ string, _ types.UID, _ string, argv []string, in io.Reader,
	out, err io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	streams := execStreams{in: in, tty: tty, resize: resize}
	// A nil WriteCloser in an io.Writer would not be nil.
	if out != nil {
		streams.out = out
	}
	if err != nil {
		streams.err = err
	}
	return e.container.exec(ctx, argv, streams)
}

func (v *provider) servePortForward(w http.ResponseWriter, r *http.Request) {
	p, _, found := v.lookup(w, r)
	if !found {
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, podForward{p}, r.PathValue("pod"), "", options, streamIdle, streamCreate,
		portforward.SupportedProtocols)
}

type podForward struct{ pod *pod }

// PortForward implements Kubernetes' interface for port-forward.
func (f podForward) PortForward(_ context.Context, _ string, _ types.UID, port int32, stream io.ReadWriteCloser) error {
	f.pod.mu.Lock()
	network := f.pod.network
	f.pod.mu.Unlock()
	if network == nil {
		return fmt.Errorf("the pod %s has no network yet", f.pod.name())
	}
	connection, err := network.dial(port)
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		io.Copy(connection, stream) // ends when either side is closed
		if tcp, is := connection.(*net.TCPConn); is {
			tcp.CloseWrite() // fails only if the other side has closed
		}
	}()
	_, err = io.Copy(stream, connection)
	return err
}
