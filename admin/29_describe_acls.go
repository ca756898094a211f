package admin

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
)

// DescribeAcls v1-3 (AclApis.handleDescribeAcls, AclBindingFilter):
//
//   - A broker without an authorizer answers SECURITY_DISABLED. Whether brokers
//     have one is in no log: the entries of the log are listed, none if there
//     are none.
//   - A filter with UNKNOWN in it is malformed.
//   - A resource name with the pattern type MATCH finds what applies to it.
func (c *call) describeACLs(q *kmsg.DescribeACLsRequest) *kmsg.DescribeACLsResponse {
	if q.ResourceType == 0 || q.ResourcePatternType == 0 || q.Operation == 0 || q.PermissionType == 0 {
		return nil
	}
	r := reply[*kmsg.DescribeACLsResponse](q)
	r.ErrorMessage = new("")
	switch {
	case !c.may(opDescribe, clusterResource, clusterName):
		r.ErrorCode, r.ErrorMessage = codeClusterAuthorizationFailed, errorMessage(codeClusterAuthorizationFailed)
		return r
	case !c.fresh.metadata:
		r.ErrorCode, r.ErrorMessage = codeRequestTimedOut, errorMessage(codeRequestTimedOut)
		return r
	}
	type pattern struct {
		kind, form int8
		name       string
	}
	at := map[pattern]int{}
	for a := range c.view.Image.Acls().All() {
		if !matchesACL(q, &a) {
			continue
		}
		p := pattern{a.ResourceType, a.PatternType, a.ResourceName}
		i, ok := at[p]
		if !ok {
			i, at[p] = len(r.Resources), len(r.Resources)
			r.Resources = append(r.Resources, kmsg.DescribeACLsResponseResource{
				ResourceType: kmsg.ACLResourceType(p.kind), ResourceName: p.name, ResourcePatternType: kmsg.ACLResourcePatternType(p.form),
			})
		}
		r.Resources[i].ACLs = append(r.Resources[i].ACLs, kmsg.DescribeACLsResponseResourceACL{
			Principal: a.Principal, Host: a.Host, Operation: kmsg.ACLOperation(a.Operation), PermissionType: kmsg.ACLPermissionType(a.PermissionType),
		})
	}
	return r
}

func matchesACL(q *kmsg.DescribeACLsRequest, a *image.Acl) bool {
	equal := func(want *string, have string) bool { return want == nil || *want == have }
	return (q.ResourceType == kmsg.ACLResourceTypeAny || int8(q.ResourceType) == a.ResourceType) &&
		matchesPattern(q, a) &&
		equal(q.Principal, a.Principal) && equal(q.Host, a.Host) &&
		(q.Operation == kmsg.ACLOperationAny || int8(q.Operation) == a.Operation) &&
		(q.PermissionType == kmsg.ACLPermissionTypeAny || int8(q.PermissionType) == a.PermissionType)
}

// matchesPattern is ResourcePatternFilter.matches.
func matchesPattern(q *kmsg.DescribeACLsRequest, a *image.Acl) bool {
	form := q.ResourcePatternType
	anyForm := form == kmsg.ACLResourcePatternTypeAny || form == kmsg.ACLResourcePatternTypeMatch
	switch {
	case !anyForm && int8(form) != a.PatternType:
		return false
	case q.ResourceName == nil:
		return true
	case form != kmsg.ACLResourcePatternTypeMatch:
		return *q.ResourceName == a.ResourceName
	case kmsg.ACLResourcePatternType(a.PatternType) == kmsg.ACLResourcePatternTypePrefixed:
		return strings.HasPrefix(*q.ResourceName, a.ResourceName)
	}
	return *q.ResourceName == a.ResourceName || a.ResourceName == "*"
}
