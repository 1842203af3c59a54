// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// execStreams are the streams of a command; any may be missing.
type execStreams struct {
	in       io.Reader
	out, err io.Writer
	tty      bool
	resize   <-chan remotecommand.TerminalSize
}

// exec runs a command in the container until it ends or the context does. A command that ends with an error code gives
// a utilexec.CodeExitError.
func (c *container) exec(ctx context.Context, argv []string, streams execStreams) error {
	c.starting.Lock()
	process := c.process
	c.starting.Unlock()
	if process == nil || len(argv) == 0 {
		return fmt.Errorf("the container %q is not running", c.spec.Name)
	}
	select {
	case <-process.done:
		return fmt.Errorf("the container %q is not running", c.spec.Name)
	default:
	}
	command := &exec.Cmd{
		Args: argv, Env: process.spec.Env, Dir: process.spec.Dir,
		Stdin: streams.in, Stdout: streams.out, Stderr: streams.err,
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:     true,
			Credential: &syscall.Credential{Uid: uint32(process.spec.UID), Gid: uint32(process.spec.GID)},
		},
	}
	finish := func() {}
	if streams.tty {
		var err error
		if finish, err = attachTerminal(command, streams); err != nil {
			return fmt.Errorf("a terminal cannot be made: %w", err)
		}
	} else if streams.in != nil {
		// Cmd's own copying would keep Wait from returning until the caller closes its end.
		feed, err := feedInput(command, streams.in)
		if err != nil {
			return err
		}
		finish = feed
	}
	if err := startWithin(process.command.Process.Pid, command); err != nil {
		finish()
		return err
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			command.Process.Kill() // fails only if it has ended
		case <-ended:
		}
	}()
	err := command.Wait()
	close(ended)
	finish()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		code := exitOf(failed.ProcessState).code
		return utilexec.CodeExitError{Err: fmt.Errorf("the command ends with code %d", code), Code: code}
	}
	return err
}

// feedInput joins a stream to the command's input; the function it returns ends that.
func feedInput(command *exec.Cmd, in io.Reader) (func(), error) {
	command.Stdin = nil
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	command.Stdin = read
	go func() {
		io.Copy(write, in) // ends when either side is closed
		write.Close()
	}()
	return func() { read.Close() }, nil
}

// startWithin starts a command in the namespaces of a container's first process.
func startWithin(pid int, command *exec.Cmd) error {
	result := make(chan error, 1)
	go func() {
		// Never unlocked: a thread that has been in there is of no use for anything else and ends with its goroutine.
		runtime.LockOSThread()
		result <- func() error {
			if err := enterNamespaces(pid); err != nil {
				return fmt.Errorf("the container cannot be entered: %w", err)
			}
			path, err := findProgram(command.Args[0], command.Env)
			if err != nil {
				return utilexec.CodeExitError{Err: err, Code: 127}
			}
			command.Path = path
			return command.Start()
		}()
	}()
	return <-result
}

func enterNamespaces(pid int) error {
	namespaces := []string{"ipc", "uts", "net", "pid", "mnt"}
	files := make([]*os.File, 0, len(namespaces))
	for _, name := range namespaces {
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
		if err != nil {
			return err
		}
		defer file.Close()
		files = append(files, file)
	}
	// A mount namespace can only be joined by a thread with a root and working directory of its own.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	for _, file := range files {
		if err := unix.Setns(int(file.Fd()), 0); err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	return nil
}

// attachTerminal gives the command a terminal of its own, joined to the streams.
func attachTerminal(command *exec.Cmd, streams execStreams) (func(), error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	var number int
	if err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		number, err = unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	}
	if err != nil {
		master.Close()
		return nil, err
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		master.Close()
		return nil, err
	}
	command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
	command.SysProcAttr.Setctty = true
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		if streams.out != nil {
			io.Copy(streams.out, master) // ends with the last process on the terminal
		}
	}()
	if streams.in != nil {
		go io.Copy(master, streams.in) // ends when the caller goes
	}
	go func() {
		for size := range streams.resize {
			unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Height, Col: size.Width}) // cosmetic
		}
	}()
	return func() {
		terminal.Close()
		<-shown
		master.Close()
	}, nil
}
