package admin

import "github.com/twmb/franz-go/pkg/kerr"

// The codes of what can be wrong with a request. They are Kafka's, and no other
// package makes any.
var (
	codeNone                               = int16(0)
	codeUnknownTopicOrPartition            = kerr.UnknownTopicOrPartition.Code
	codeLeaderNotAvailable                 = kerr.LeaderNotAvailable.Code
	codeRequestTimedOut                    = kerr.RequestTimedOut.Code
	codeReplicaNotAvailable                = kerr.ReplicaNotAvailable.Code
	codeLoadInProgress                     = kerr.CoordinatorLoadInProgress.Code
	codeCoordinatorNotAvailable            = kerr.CoordinatorNotAvailable.Code
	codeNotCoordinator                     = kerr.NotCoordinator.Code
	codeInvalidTopic                       = kerr.InvalidTopicException.Code
	codeInvalidGroupID                     = kerr.InvalidGroupID.Code
	codeUnknownMemberID                    = kerr.UnknownMemberID.Code
	codeTopicAuthorizationFailed           = kerr.TopicAuthorizationFailed.Code
	codeGroupAuthorizationFailed           = kerr.GroupAuthorizationFailed.Code
	codeClusterAuthorizationFailed         = kerr.ClusterAuthorizationFailed.Code
	codeUnsupportedSaslMechanism           = kerr.UnsupportedSaslMechanism.Code
	codeIllegalSaslState                   = kerr.IllegalSaslState.Code
	codeSaslAuthenticationFailed           = kerr.SaslAuthenticationFailed.Code
	codeUnsupportedVersion                 = kerr.UnsupportedVersion.Code
	codeInvalidRequest                     = kerr.InvalidRequest.Code
	codeTransactionalIDAuthorizationFailed = kerr.TransactionalIDAuthorizationFailed.Code
	codeDelegationTokenRequestNotAllowed   = kerr.DelegationTokenRequestNotAllowed.Code
	codeGroupIDNotFound                    = kerr.GroupIDNotFound.Code
	codeUnstableOffsetCommit               = kerr.UnstableOffsetCommit.Code
	codeResourceNotFound                   = kerr.ResourceNotFound.Code
	codeDuplicateResource                  = kerr.DuplicateResource.Code
	codeUnknownTopicID                     = kerr.UnknownTopicID.Code
	codeStaleMemberEpoch                   = kerr.StaleMemberEpoch.Code
	codeMismatchedEndpointType             = kerr.MismatchedEndpointType.Code
	codeUnsupportedEndpointType            = kerr.UnsupportedEndpointType.Code
)

// messages are Kafka's where kerr has others.
var messages = map[int16]string{
	codeTopicAuthorizationFailed:   "Topic authorization failed.",
	codeGroupAuthorizationFailed:   "Group authorization failed.",
	codeClusterAuthorizationFailed: "Cluster authorization failed.",
}

// errorMessage is what Kafka says of a code; nil of none.
func errorMessage(code int16) *string {
	if message, ok := messages[code]; ok {
		return &message
	}
	if e := kerr.TypedErrorForCode(code); e != nil {
		return &e.Description
	}
	return nil
}
