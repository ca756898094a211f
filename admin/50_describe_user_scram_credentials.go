package admin

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kraftside/kraftside/image"
)

// DescribeUserScramCredentials v0 (ScramImage.describe):
//
//   - Mechanisms and iterations alone are told. No users, or null, means all.
func (c *call) describeUserScramCredentials(q *kmsg.DescribeUserSCRAMCredentialsRequest) *kmsg.DescribeUserSCRAMCredentialsResponse {
	r := reply[*kmsg.DescribeUserSCRAMCredentialsResponse](q)
	r.ErrorMessage = new("")
	switch {
	case !c.may(opDescribe, clusterResource, clusterName):
		r.ErrorCode, r.ErrorMessage = codeClusterAuthorizationFailed, nil
		return r
	case !c.fresh.metadata:
		r.ErrorCode, r.ErrorMessage = codeRequestTimedOut, errorMessage(codeRequestTimedOut)
		return r
	}
	known := credentials(c.view.Image.Scram())
	if len(q.Users) == 0 {
		for _, user := range sortedKeys(known) {
			r.Results = append(r.Results, describedUser(user, 1, known[user]))
		}
		return r
	}
	var asked []string
	for _, user := range q.Users {
		asked = append(asked, user.Name)
	}
	slices.Sort(asked)
	for i := 0; i < len(asked); {
		user, times := asked[i], 0
		for ; i < len(asked) && asked[i] == user; i++ {
			times++
		}
		r.Results = append(r.Results, describedUser(user, times, known[user]))
	}
	return r
}

func describedUser(user string, times int, infos []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	r := kmsg.DescribeUserSCRAMCredentialsResponseResult{User: user, ErrorMessage: new("")}
	switch {
	case times > 1:
		r.ErrorCode = codeDuplicateResource
		r.ErrorMessage = new("Cannot describe SCRAM credentials for the same user twice in a single request: " + user)
	case infos == nil:
		r.ErrorCode = codeResourceNotFound
		r.ErrorMessage = new("Attempt to describe a user credential that does not exist: " + user)
	default:
		r.CredentialInfos = infos
	}
	return r
}

func credentials(s *image.ScramImage) map[string][]kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo {
	users := map[string][]kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo{}
	for have := range s.All() {
		users[have.User] = append(users[have.User],
			kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo{Mechanism: have.Mechanism, Iterations: have.Iterations})
	}
	return users
}
