// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideSpec says what "meshnode run" makes of itself: a container.
type insideSpec struct {
	Root     string // an empty directory: the container's root file system is put together there
	Hostname string
	Resolv   string // content of /etc/resolv.conf
	Mounts   []mount
	Args     []string
	Env      []string
	Dir      string
	UID, GID int
}

// mount is a file or directory of the machine that the container sees at Target.
type mount struct {
	Source, Target string
	Writable       bool
}

const (
	hostsDir   = "/run/meshlab/hosts"   // a directory, so that the file in it can be replaced in one step
	trafficDir = "/run/meshlab/traffic" // counters of traffic clients
	netnsFD    = 3                      // the pod's network namespace, given by the node
	readyFD    = 4                      // where the program says that it accepts requests, if it does
)

// Parts of the machine that every container sees, read-only: programs and libraries, and a few files of /etc.
var (
	sharedDirs = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu"}
	sharedEtc  = []string{"ld.so.cache", "ssl", "pki", "ca-certificates", "alternatives", "localtime", "services", "protocols", "mime.types"}
)

// runInside is the last stretch before a container's program. The node has started it in new PID, mount, UTS and IPC
// namespaces; it joins the pod's network, builds the root file system, becomes the container's user and then its program,
// which is the first of the PID namespace: when it ends, the kernel ends everything it started.
func runInside(args []string) error {
	if len(args) != 1 {
		return errors.New("run is started by the node only, with the file that describes the container")
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var spec insideSpec
	if err := json.Unmarshal(content, &spec); err != nil {
		return err
	}
	if err := unix.Setns(netnsFD, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("the pod's network cannot be joined: %w", err)
	}
	unix.Close(netnsFD)
	if err := buildRoot(spec); err != nil {
		return fmt.Errorf("the root file system cannot be built: %w", err)
	}
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("the host name cannot be set: %w", err)
	}
	if err := becomeUser(spec.UID, spec.GID); err != nil {
		return err
	}
	if err := os.Chdir(spec.Dir); err != nil {
		return err
	}
	return enterProgram(spec)
}

func becomeUser(uid, gid int) error {
	if uid != 0 || gid != 0 {
		// So that it can open /dev/stdout, as Envoy does for its access log. Only a pipe has an owner that matters.
		for _, stream := range []int{syscall.Stdout, syscall.Stderr} {
			syscall.Fchown(stream, uid, gid)
		}
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(gid), syscall.Setuid(uid)); err != nil {
			return fmt.Errorf("user %d and group %d are not available here: %w", uid, gid, err)
		}
	}
	// A change of user takes the parent-death signal away; without it a container would outlive its node.
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

func enterProgram(spec insideSpec) error {
	path, err := findProgram(spec.Args[0], spec.Env)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s cannot be started: %w", path, unix.Exec(path, spec.Args, spec.Env))
}

// findProgram looks a name up in the PATH of an environment.
func findProgram(name string, environment []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := containerPath
	for _, variable := range environment {
		if value, is := strings.CutPrefix(variable, "PATH="); is {
			path = value
		}
	}
	for _, directory := range strings.Split(path, ":") {
		file := filepath.Join(directory, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("there is no program %q in the container", name)
}

// buildRoot puts the root file system together and makes it the root.
func buildRoot(spec insideSpec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", spec.Root, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	root := rootBuilder{root: spec.Root}
	root.shareProgramDirs()
	for _, name := range sharedEtc {
		root.share("/etc/" + name)
	}
	for path, content := range etcFiles(spec) {
		root.file(path, content)
	}
	root.link("/etc/hosts", hostsDir+"/hosts")
	for _, directory := range []string{"/tmp", "/var/tmp", "/run", "/var/run", "/home", "/root"} {
		root.directory(directory, 0o1777)
	}
	root.bind(mount{Source: "/dev", Target: "/dev", Writable: true})
	root.bind(mount{Source: "/sys", Target: "/sys"})
	for _, m := range spec.Mounts {
		root.bind(m)
	}
	root.directory("/proc", 0o555)
	if root.err != nil {
		return root.err
	}
	if err := unix.Mount("proc", spec.Root+"/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	if err := os.Chdir(spec.Root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	return unix.Unmount(".", unix.MNT_DETACH)
}

func etcFiles(spec insideSpec) map[string]string {
	return map[string]string{
		"/etc/passwd":        "root:x:0:0:root:/root:/bin/sh\nistio-proxy:x:1337:1337::/:/bin/sh\n",
		"/etc/group":         "root:x:0:\nistio-proxy:x:1337:\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
		"/etc/hostname":      spec.Hostname + "\n",
		"/etc/resolv.conf":   spec.Resolv,
	}
}

// rootBuilder makes entries of a root file system; the first error stays and ends the work.
type rootBuilder struct {
	root   string
	shared []string
	err    error
}

// shareProgramDirs shows the machine's programs and libraries; /usr/local is the container's own.
func (b *rootBuilder) shareProgramDirs() {
	for _, directory := range sharedDirs {
		b.share(directory)
	}
	entries, err := os.ReadDir("/usr")
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	for _, entry := range entries {
		if entry.Name() != "local" {
			b.share("/usr/" + entry.Name())
		}
	}
	b.directory(commandDir, 0o755)
}

// share shows a file, directory or link of the machine as it is, if there is one.
func (b *rootBuilder) share(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	if info.Mode()&os.ModeSymlink != 0 {
		if target, err := os.Readlink(path); err == nil {
			b.link(path, target)
		}
		return
	}
	b.bind(mount{Source: path, Target: path})
	b.shared = append(b.shared, path)
}

func (b *rootBuilder) bind(m mount) {
	if b.err != nil {
		return
	}
	for _, shared := range b.shared {
		if _, err := os.Stat(b.root + m.Target); strings.HasPrefix(m.Target, shared+"/") && err != nil {
			b.err = fmt.Errorf("nothing can be mounted at %s: %s is shared with the machine", m.Target, shared)
			return
		}
	}
	info, err := os.Stat(m.Source)
	if err != nil {
		b.err = err
		return
	}
	target := b.root + m.Target
	if info.IsDir() {
		b.directory(m.Target, 0o755)
	} else {
		b.file(m.Target, "")
	}
	if b.err != nil {
		return
	}
	if err := unix.Mount(m.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		b.err = fmt.Errorf("%s cannot be shown at %s: %w", m.Source, m.Target, err)
		return
	}
	if !m.Writable {
		// Only ever adds the flag, so it also works where the machine's own flags are locked.
		readOnly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(-1, target, unix.AT_RECURSIVE, readOnly); err != nil && err != unix.ENOSYS {
			b.err = fmt.Errorf("%s cannot be made read-only: %w", m.Target, err)
		}
	}
}

func (b *rootBuilder) directory(path string, mode uint32) {
	if b.err == nil {
		b.err = os.MkdirAll(b.root+path, 0o755)
	}
	if b.err == nil && mode != 0o755 {
		b.err = unix.Chmod(b.root+path, mode)
	}
}

func (b *rootBuilder) file(path, content string) {
	b.directory(filepath.Dir(path), 0o755)
	if b.err == nil {
		b.err = os.WriteFile(b.root+path, []byte(content), 0o644)
	}
}

func (b *rootBuilder) link(path, target string) {
	b.directory(filepath.Dir(path), 0o755)
	if b.err == nil {
		b.err = os.Symlink(target, b.root+path)
	}
}
