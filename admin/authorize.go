package admin

import (
	"net"

	"github.com/kraftside/kraftside/image"
)

// Authorizer says who may see what, by the access control entries of the
// cluster and the rules of its standard authorizer, so that nobody sees more
// here than at a broker (StandardAuthorizerData.authorize):
//
//   - a super user may do everything;
//   - an entry that denies wins over all that allow;
//   - entries are of a resource's name, of a prefix of it, or of the name *;
//   - reading, writing, deleting and altering imply describing, altering
//     configurations implies describing them;
//   - a resource without any entry is closed, unless AllowIfNoACL.
type Authorizer struct {
	// SuperUsers are principals, such as User:admin.
	SuperUsers []string
	// AllowIfNoACL is allow.everyone.if.no.acl.found.
	AllowIfNoACL bool
}

// Types of resources (org.apache.kafka.common.resource.ResourceType).
const (
	topicResource           int8 = 2
	groupResource           int8 = 3
	clusterResource         int8 = 4
	transactionalIDResource int8 = 5
	delegationTokenResource int8 = 6
	userResource            int8 = 7
)

// clusterName is the only name of the resource type cluster.
const clusterName = "kafka-cluster"

const anonymous = "User:ANONYMOUS"

// Codes of operations (org.apache.kafka.common.acl.AclOperation).
const (
	opAll             int8 = 2
	opRead            int8 = 3
	opWrite           int8 = 4
	opCreate          int8 = 5
	opDelete          int8 = 6
	opAlter           int8 = 7
	opDescribe        int8 = 8
	opClusterAction   int8 = 9
	opDescribeConfigs int8 = 10
	opAlterConfigs    int8 = 11
	opIdempotentWrite int8 = 12
	opDescribeTokens  int8 = 14
)

// supported are the operations that there are for a type of resource
// (AclEntry.supportedOperations).
var supported = map[int8][]int8{
	topicResource:   {opRead, opWrite, opCreate, opDescribe, opDelete, opAlter, opDescribeConfigs, opAlterConfigs},
	groupResource:   {opRead, opDescribe, opDelete, opDescribeConfigs, opAlterConfigs},
	clusterResource: {opCreate, opClusterAction, opDescribeConfigs, opAlterConfigs, opIdempotentWrite, opAlter, opDescribe},
}

// notRequested is what a response says of authorized operations that nobody
// asked for.
const notRequested int32 = -1 << 31

// authorized is the operations that the client may do on a resource, a bit for
// the code of each, if they were asked for.
func (c *call) authorized(asked bool, kind int8, name string) (bits int32) {
	if !asked {
		return notRequested
	}
	for _, op := range supported[kind] {
		if c.may(op, kind, name) {
			bits |= 1 << op
		}
	}
	return bits
}

// clusterOperations are those on the cluster, which are told to whoever may
// describe it.
func (c *call) clusterOperations(asked bool) int32 {
	if asked && !c.may(opDescribe, clusterResource, clusterName) {
		return 0
	}
	return c.authorized(asked, clusterResource, clusterName)
}

// may says whether the client may do something. Where nobody has to say
// who he is, everybody may.
func (c *call) may(op, kind int8, name string) bool {
	if !c.door.closed() {
		return true
	}
	if c.entries == nil {
		c.entries = c.entriesOf(c.view.Image.Acls())
		c.who = asking{principal: c.session.principal, host: hostOf(c.remote)}
	}
	return c.o.Authorizer.allows(c.entries, c.who, op, kind, name)
}

func hostOf(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return ""
}

// asking is on whose behalf somebody asks, and from where.
type asking struct{ principal, host string }

func (a *Authorizer) allows(entries *aclIndex, who asking, op, kind int8, name string) bool {
	for _, super := range a.SuperUsers {
		if super == who.principal {
			return true
		}
	}
	found, allowed := false, false
	for list := range entries.applying(kind, name) {
		for i := range list {
			found = true
			if !list[i].matches(who, op) {
				continue
			}
			if list[i].deny {
				return false
			}
			allowed = true
		}
	}
	return allowed || !found && a.AllowIfNoACL
}

// aclEntry is an entry of one resource.
type aclEntry struct {
	principal, host string
	operation       int8
	deny            bool
}

const (
	everybody  = "User:*"
	everywhere = "*"
	denied     = 2 // AclPermissionType.DENY
)

func (e *aclEntry) matches(who asking, op int8) bool {
	return (e.principal == everybody || e.principal == who.principal) &&
		(e.host == everywhere || e.host == who.host) &&
		(e.operation == opAll || e.operation == op || !e.deny && implies(e.operation, op))
}

// implies says whether who may do one thing may do another.
func implies(allowed, op int8) bool {
	switch op {
	case opDescribe:
		return allowed == opRead || allowed == opWrite || allowed == opDelete || allowed == opAlter
	case opDescribeConfigs:
		return allowed == opAlterConfigs
	}
	return false
}

// aclIndex finds the entries that apply to a resource.
type aclIndex struct{ literal, prefixed map[aclResource][]aclEntry }

type aclResource struct {
	kind int8
	name string
}

const prefixedPattern = 4 // PatternType.PREFIXED

func newACLIndex() *aclIndex {
	return &aclIndex{literal: map[aclResource][]aclEntry{}, prefixed: map[aclResource][]aclEntry{}}
}

func indexACLs(acls *image.AclsImage) *aclIndex {
	x := newACLIndex()
	for a := range acls.All() {
		x.add(a.ResourceType, a.ResourceName, a.PatternType,
			aclEntry{principal: a.Principal, host: a.Host, operation: a.Operation, deny: a.PermissionType == denied})
	}
	return x
}

func (x *aclIndex) add(kind int8, name string, pattern int8, e aclEntry) {
	in := x.literal
	if pattern == prefixedPattern {
		in = x.prefixed
	}
	at := aclResource{kind, name}
	in[at] = append(in[at], e)
}

// applying yields the lists of entries that are about a resource.
func (x *aclIndex) applying(kind int8, name string) func(yield func([]aclEntry) bool) {
	return func(yield func([]aclEntry) bool) {
		if !yield(x.literal[aclResource{kind, name}]) || name != everywhere && !yield(x.literal[aclResource{kind, everywhere}]) {
			return
		}
		if len(x.prefixed) == 0 {
			return
		}
		for n := range len(name) + 1 {
			if list := x.prefixed[aclResource{kind, name[:n]}]; list != nil && !yield(list) {
				return
			}
		}
	}
}

// entriesOf is the index of an image's entries, which is made anew when they
// change.
func (s *Server) entriesOf(acls *image.AclsImage) *aclIndex {
	if have := s.acls.Load(); have != nil && have.of == acls {
		return have.index
	}
	made := &indexedACLs{of: acls, index: indexACLs(acls)}
	s.acls.Store(made)
	return made.index
}

type indexedACLs struct {
	of    *image.AclsImage
	index *aclIndex
}
