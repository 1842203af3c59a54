// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const (
	gateway    = "169.254.1.1" // the machine, as every pod sees it: on the machine's end of each pair
	labAddress = "10.245.0.1"  // an ordinary address of the machine; istioctl needs one for its node id
)

// network gives pods addresses and joins their network namespaces to the one the node runs in.
type network struct {
	prefix netip.Prefix

	mu   sync.Mutex
	next netip.Addr
	used map[netip.Addr]bool
}

// podNetwork is a pod's network namespace and its way out. The namespace has no name: it lives as long as the node
// holds it open or a process is in it, and the pair of interfaces ends with it.
type podNetwork struct {
	network   *network
	ip        netip.Addr
	namespace netns.NsHandle
	link      string // the machine's end
}

func newNetwork(prefix netip.Prefix) (*network, error) {
	n := &network{prefix: prefix, next: prefix.Masked().Addr().Next(), used: map[netip.Addr]bool{}}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return nil, fmt.Errorf("packets between pods cannot be forwarded: %w. Start the node in a network namespace of its own", err)
	}
	return n, addLabAddress()
}

// addLabAddress gives the machine its ordinary address unless it has it already.
func addLabAddress() error {
	held, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("the machine's addresses cannot be listed: %w", err)
	}
	for _, address := range held {
		if address.IP.String() == labAddress {
			return nil
		}
	}
	link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "meshlab0"}, PeerName: "meshlab1"}
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("the interface for %s cannot be made: %w", labAddress, err)
	}
	if err := netlink.AddrAdd(link, single(labAddress)); err != nil {
		return fmt.Errorf("the address %s cannot be set: %w", labAddress, err)
	}
	peer, err := netlink.LinkByName("meshlab1")
	if err != nil {
		return fmt.Errorf("the interface for %s cannot be found: %w", labAddress, err)
	}
	return errors.Join(netlink.LinkSetUp(link), netlink.LinkSetUp(peer))
}

func single(address string) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(address).To4(), Mask: net.CIDRMask(32, 32)}}
}

// attach makes a pod's network. The pod gets the address it wishes for if that is free.
func (n *network) attach(wish netip.Addr) (*podNetwork, error) {
	ip, err := n.take(wish)
	if err != nil {
		return nil, err
	}
	p := &podNetwork{network: n, ip: ip, link: linkName(ip)}
	if p.namespace, err = newNamespace(); err == nil {
		err = p.connect()
	}
	if err != nil {
		p.detach()
		return nil, fmt.Errorf("the network of the pod with the address %s cannot be made: %w", ip, err)
	}
	return p, nil
}

func (n *network) take(wish netip.Addr) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.prefix.Contains(wish) && !n.used[wish] {
		n.used[wish] = true
		return wish, nil
	}
	// Addresses go round, so that one is not given again while somebody may still remember its last pod.
	for range 1 << (32 - n.prefix.Bits()) {
		ip := n.next
		n.next = ip.Next()
		if !n.prefix.Contains(n.next) {
			n.next = n.prefix.Masked().Addr().Next()
		}
		if !n.used[ip] {
			n.used[ip] = true
			return ip, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("all addresses of %s are in use", n.prefix)
}

func linkName(ip netip.Addr) string {
	b := ip.As4()
	return fmt.Sprintf("pod%02x%02x%02x%02x", b[0], b[1], b[2], b[3])
}

// newNamespace makes a network namespace and comes back to the one the node runs in.
func newNamespace() (netns.NsHandle, error) {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return -1, err
	}
	defer home.Close()
	made, err := netns.New()
	if err != nil {
		runtime.UnlockOSThread()
		return -1, err
	}
	// Istio's gateways listen on port 80 as an ordinary user. The file is the namespace's own.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0o644); err != nil {
		log.Printf("pods may not listen on ports below 1024: %v", err)
	}
	if err := netns.Set(home); err != nil {
		return made, err // the thread stays locked and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return made, nil
}

func (p *podNetwork) connect() error {
	pair := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: p.link},
		PeerName:      "eth0",
		PeerNamespace: netlink.NsFd(int(p.namespace)),
	}
	if err := netlink.LinkAdd(pair); err != nil {
		return err
	}
	if err := netlink.AddrAdd(pair, single(gateway)); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(pair); err != nil {
		return err
	}
	inside, err := netlink.NewHandleAt(p.namespace)
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := p.configure(inside); err != nil {
		return err
	}
	return netlink.RouteReplace(&netlink.Route{
		LinkIndex: pair.Attrs().Index, Dst: single(p.ip.String()).IPNet, Scope: netlink.SCOPE_LINK,
	})
}

// configure sets up the pod's side: its address, and everything else by way of the machine.
func (p *podNetwork) configure(inside *netlink.Handle) error {
	for _, name := range []string{"lo", "eth0"} {
		link, err := inside.LinkByName(name)
		if err != nil {
			return err
		}
		if err := inside.LinkSetUp(link); err != nil {
			return err
		}
	}
	link, err := inside.LinkByName("eth0")
	if err != nil {
		return err
	}
	if err := inside.AddrAdd(link, single(p.ip.String())); err != nil {
		return err
	}
	index := link.Attrs().Index
	if err := inside.RouteAdd(&netlink.Route{LinkIndex: index, Dst: single(gateway).IPNet, Scope: netlink.SCOPE_LINK}); err != nil {
		return err
	}
	return inside.RouteAdd(&netlink.Route{LinkIndex: index, Gw: net.ParseIP(gateway), Src: p.ip.AsSlice()})
}

// detach takes the network away. The machine's interface goes at once, not when the last socket of the namespace does.
func (p *podNetwork) detach() {
	if link, err := netlink.LinkByName(p.link); err == nil {
		if err := netlink.LinkDel(link); err != nil {
			log.Printf("the interface %s cannot be removed: %v", p.link, err)
		}
	}
	if p.namespace.IsOpen() {
		p.namespace.Close()
	}
	p.network.mu.Lock()
	defer p.network.mu.Unlock()
	delete(p.network.used, p.ip)
}

// file is the namespace for a process to inherit; its receiver closes it.
func (p *podNetwork) file() (*os.File, error) {
	copied, err := unix.FcntlInt(uintptr(p.namespace), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("the pod's network namespace cannot be handed on: %w", err)
	}
	return os.NewFile(uintptr(copied), "network namespace"), nil
}

// dial connects to a port of the pod's own loopback address.
func (p *podNetwork) dial(port int32) (net.Conn, error) {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer home.Close()
	if err := netns.Set(p.namespace); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("the pod's network is gone: %w", err)
	}
	// One address, so the socket is made by this very thread.
	connection, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if back := netns.Set(home); back != nil {
		return connection, err // the thread stays locked and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return connection, err
}
