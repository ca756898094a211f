package ask

import (
	"context"
	"encoding/json"

	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/web/api"
	"github.com/kraftside/kraftside/whatif"
)

// Whatif is what changes would do to the groups, by id. Next is not set. The
// error is NotFound if a change names what is not there, and BadUsage if it
// cannot be made.
func (c *Client) Whatif(ctx context.Context, changes []whatif.Change) (*api.Whatif[api.Prediction], error) {
	body, err := json.Marshal(changes)
	if err != nil {
		return nil, cli.Errorf(cli.BadUsage, "the plan cannot be sent: %w", err)
	}
	l, err := fetch(ctx, c, "/whatif", nil, body, by(predictedName), newerPrediction)
	if err != nil {
		return nil, err
	}
	return &api.Whatif[api.Prediction]{Groups: l.items, Examined: l.examined, Completeness: l.Completeness}, nil
}

func predictedName(p *api.Prediction) string { return p.Group }

// newerPrediction is the one that rests on more of the metadata log, or else of
// the group's own.
func newerPrediction(a, b *api.Prediction) api.Prediction {
	x, y := &a.ReadAt, &b.ReadAt
	m, n := offset(x.MetadataOffset), offset(y.MetadataOffset)
	if n > m || n == m && offset(y.Offset) > offset(x.Offset) {
		return *b
	}
	return *a
}
