// Copyright (c) 2026, the meshops.istio contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// redirect is what istio-init asks for: traffic of the pod goes through its proxy.
type redirect struct {
	outbound, inbound uint16 // ports of the proxy
	proxyUser         uint32
	inboundExcept     []uint16
	outboundExcept    []uint16
}

// parseRedirect reads the arguments of istio-iptables that matter here; a sidecar without any gets Istio's defaults.
func parseRedirect(args []string) (redirect, error) {
	r := redirect{outbound: 15001, inbound: 15006, proxyUser: proxyUser, inboundExcept: []uint16{15020, 15021, 15090}}
	for i := 0; i+1 < len(args); i++ {
		ports, err := parsePorts(args[i+1])
		known := true
		switch args[i] {
		case "-p":
			r.outbound = first(ports, r.outbound)
		case "-z":
			r.inbound = first(ports, r.inbound)
		case "-u":
			r.proxyUser = uint32(first(ports, proxyUser))
		case "-d":
			r.inboundExcept = ports
		case "-o":
			r.outboundExcept = ports
		default:
			known = false
		}
		if known && err != nil {
			return r, fmt.Errorf("istio-init has the argument %s %q: %w", args[i], args[i+1], err)
		}
	}
	return r, nil
}

func parsePorts(list string) ([]uint16, error) {
	var ports []uint16
	for _, text := range strings.Split(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number of 16 bits", text)
		}
		ports = append(ports, uint16(port))
	}
	return ports, nil
}

func first(ports []uint16, otherwise uint16) uint16 {
	if len(ports) == 0 {
		return otherwise
	}
	return ports[0]
}

// redirect sets the rules in the pod's network. They are those of Istio's own istio-iptables, in the same order.
func (p *podNetwork) redirect(r redirect) error {
	connection, err := nftables.New(nftables.WithNetNSFd(int(p.namespace)))
	if err != nil {
		return fmt.Errorf("redirect rules cannot be set: %w", err)
	}
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: "istio"}
	connection.AddTable(table)
	connection.DelTable(table) // istio-init may run again
	connection.AddTable(table)
	chain := func(name string, hook *nftables.ChainHook) *nftables.Chain {
		return connection.AddChain(&nftables.Chain{
			Table: table, Name: name, Type: nftables.ChainTypeNAT, Hooknum: hook, Priority: nftables.ChainPriorityNATDest,
		})
	}
	add := func(c *nftables.Chain, parts ...[]expr.Any) {
		rule := &nftables.Rule{Table: table, Chain: c}
		for _, part := range parts {
			rule.Exprs = append(rule.Exprs, part...)
		}
		connection.AddRule(rule)
	}
	out := chain("outbound", nftables.ChainHookOutput)
	// What the proxy sends on to the application comes from 127.0.0.6.
	add(out, protocolTCP(), address(source, 127, 0, 0, 6), toLoopback(), leave())
	// The pod calls a Service and is its own endpoint: the proxy's second half has to take the call.
	add(out, protocolTCP(), toLoopback(), notAddress(destination, 127, 0, 0, 1), notPort(15008), user(r.proxyUser), toPort(r.inbound))
	add(out, protocolTCP(), toLoopback(), notUser(r.proxyUser), leave())
	add(out, protocolTCP(), user(r.proxyUser), leave())
	add(out, protocolTCP(), address(destination, 127, 0, 0, 1), leave())
	for _, port := range r.outboundExcept {
		add(out, protocolTCP(), isPort(port), leave())
	}
	add(out, protocolTCP(), toPort(r.outbound))

	in := chain("inbound", nftables.ChainHookPrerouting)
	for _, port := range r.inboundExcept {
		add(in, protocolTCP(), isPort(port), leave())
	}
	add(in, protocolTCP(), toPort(r.inbound))
	if err := connection.Flush(); err != nil {
		return fmt.Errorf("redirect rules cannot be set: %w", err)
	}
	return nil
}

// Offsets of the two addresses in an IPv4 header.
const (
	source      = 12
	destination = 16
)

func compare(op expr.CmpOp, data []byte) expr.Any { return &expr.Cmp{Op: op, Register: 1, Data: data} }

func protocolTCP() []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, compare(expr.CmpOpEq, []byte{unix.IPPROTO_TCP})}
}

func addressField(offset uint32, op expr.CmpOp, octets []byte) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: 4}, compare(op, octets)}
}

func address(offset uint32, octets ...byte) []expr.Any {
	return addressField(offset, expr.CmpOpEq, octets)
}

func notAddress(offset uint32, octets ...byte) []expr.Any {
	return addressField(offset, expr.CmpOpNeq, octets)
}

func portField(op expr.CmpOp, port uint16) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		compare(op, binary.BigEndian.AppendUint16(nil, port))}
}

func isPort(port uint16) []expr.Any { return portField(expr.CmpOpEq, port) }

func notPort(port uint16) []expr.Any { return portField(expr.CmpOpNeq, port) }

func userField(op expr.CmpOp, id uint32) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeySKUID, Register: 1}, compare(op, binaryutil.NativeEndian.PutUint32(id))}
}

func user(id uint32) []expr.Any { return userField(expr.CmpOpEq, id) }

func notUser(id uint32) []expr.Any { return userField(expr.CmpOpNeq, id) }

func toLoopback() []expr.Any {
	name := make([]byte, unix.IFNAMSIZ)
	copy(name, "lo")
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyOIFNAME, Register: 1}, compare(expr.CmpOpEq, name)}
}

func leave() []expr.Any { return []expr.Any{&expr.Verdict{Kind: expr.VerdictReturn}} }

func toPort(port uint16) []expr.Any {
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: binary.BigEndian.AppendUint16(nil, port)}, &expr.Redir{RegisterProtoMin: 1}}
}
