package admin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"

	"github.com/xdg-go/scram"

	"github.com/kraftside/kraftside/image"
)

// scramExchange lets a user log in with the credential that the cluster has
// (ScramSaslServer, RFC 5802). A user who is unknown is led to the last message
// like one whose password is wrong.
type scramExchange struct {
	conversation *scram.ServerConversation
	unknown      bool
}

// numberOf are the numbers of the mechanisms in the metadata log.
var numberOf = map[string]int8{ScramSHA256: 1, ScramSHA512: 2}

// leastIterations is ScramMechanism.minIterations.
const leastIterations = 4096

func newScramExchange(mechanism string, credentials *image.ScramImage) *scramExchange {
	x := &scramExchange{}
	hash := scram.SHA256
	if mechanism == ScramSHA512 {
		hash = scram.SHA512
	}
	server, err := hash.NewServer(func(user string) (scram.StoredCredentials, error) {
		for have := range credentials.All() {
			if have.User == user && have.Mechanism == numberOf[mechanism] {
				return scram.StoredCredentials{
					KeyFactors: scram.KeyFactors{Salt: string(have.Salt), Iters: int(have.Iterations)},
					StoredKey:  have.StoredKey, ServerKey: have.ServerKey,
				}, nil
			}
		}
		x.unknown = true
		return nobody(user), nil
	})
	if err != nil {
		panic(err) // it has no reason to fail
	}
	x.conversation = server.NewConversation()
	return x
}

// nobodysKey makes the salts of users who do not exist, so that they are the
// same each time.
var nobodysKey = func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return key
}()

func nobody(user string) scram.StoredCredentials {
	mac := hmac.New(sha256.New, nobodysKey)
	mac.Write([]byte(user))
	sum := mac.Sum(nil)
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(sum[:20]), Iters: leastIterations}, StoredKey: sum, ServerKey: sum,
	}
}

func (x *scramExchange) next(message []byte) ([]byte, string, error) {
	answer, err := x.conversation.Step(string(message))
	switch {
	case err != nil, x.conversation.Done() && (x.unknown || !x.conversation.Valid()):
		return nil, "", errCredentials
	case x.conversation.Done():
		return []byte(answer), x.conversation.Username(), nil
	}
	return []byte(answer), "", nil
}
