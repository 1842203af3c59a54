// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// spawner starts all processes from one thread that never ends: the kernel kills a process that has a parent-death
// signal when the thread that started it ends, not only when the program does.
type spawner struct{ requests chan spawnRequest }

type spawnRequest struct {
	command *exec.Cmd
	result  chan error
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest)}
	go func() {
		runtime.LockOSThread()
		for request := range s.requests {
			request.result <- request.command.Start()
		}
	}()
	return s
}

func (s *spawner) start(command *exec.Cmd) error {
	request := spawnRequest{command, make(chan error, 1)}
	s.requests <- request
	return <-request.result
}

// process is the first process of a container.
type process struct {
	command *exec.Cmd
	spec    insideSpec
	done    chan struct{} // closed when it has ended; exit is valid then
	exit    exit
}

type exit struct {
	code   int
	signal int
	at     time.Time
}

// spawn starts a container's process in the pod's network, with its output in a log file. If it tells when it is ready, it
// does so through the reader that is returned.
func (m *machine) spawn(spec insideSpec, network *podNetwork, logFile string, tellsReady bool) (*process, io.ReadCloser, error) {
	description, err := json.Marshal(spec)
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(filepath.Dir(spec.Root), "run.json")
	// Only the node reads it; the environment in it may hold secrets.
	if err := os.WriteFile(file, description, 0o600); err != nil {
		return nil, nil, err
	}
	namespace, err := network.file()
	if err != nil {
		return nil, nil, err
	}
	defer namespace.Close()
	output, err := newLogWriter(logFile)
	if err != nil {
		return nil, nil, err
	}
	command := exec.Command(m.self, "run", file)
	command.Env = []string{"GOMAXPROCS=1"}
	command.Stdout, command.Stderr = output.stream("stdout"), output.stream("stderr")
	command.ExtraFiles = []*os.File{namespace}
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setsid:     true,
	}
	var ready, write *os.File
	if tellsReady {
		if ready, write, err = os.Pipe(); err != nil {
			output.Close()
			return nil, nil, err
		}
		defer write.Close()
		command.ExtraFiles = append(command.ExtraFiles, write)
	}
	if err := m.spawner.start(command); err != nil {
		output.Close()
		if ready != nil {
			ready.Close()
		}
		return nil, nil, fmt.Errorf("the process cannot be started: %w", err)
	}
	p := &process{command: command, spec: spec, done: make(chan struct{})}
	go func() {
		command.Wait() // its error repeats the exit code
		p.exit = exitOf(command.ProcessState)
		output.Close()
		close(p.done)
	}()
	if ready == nil {
		return p, nil, nil
	}
	return p, ready, nil
}

func exitOf(state *os.ProcessState) exit {
	e := exit{code: 255, at: time.Now()}
	if state == nil {
		return e
	}
	e.code = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.signal = int(status.Signal())
		e.code = 128 + e.signal
	}
	return e
}

func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.done:
	default:
		p.command.Process.Signal(s) // fails only if the process has just ended
	}
}
