package admin

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// synthetic is what kraftside knows of a group in the form of configurations
// that nobody can change, so that the tools which show those show it, too.
func (c *call) synthetic(group string) (list []kmsg.DescribeConfigsResponseResourceConfig) {
	add := func(name, value string) {
		list = append(list, kmsg.DescribeConfigsResponseResourceConfig{
			Name: "kraftside." + name, Value: &value, ReadOnly: true, Source: kmsg.ConfigSourceUnknown, ConfigType: kmsg.ConfigTypeString,
		})
	}
	g, ok := c.view.Group(group)
	if !ok {
		return nil
	}
	if g.Hash != nil && !g.Hash.None {
		add("metadata.hash.stored", strconv.FormatInt(g.Hash.Value, 10))
		add("metadata.hash.computed", strconv.FormatInt(g.Answer.Computed, 10))
	}
	add("metadata.hash.verdict", string(g.Answer.Verdict))
	if last := c.view.Rebalances(group); len(last) > 0 && len(last[0].Causes) > 0 {
		add("rebalance.last.cause", last[0].Causes[0].Summary)
	}
	return list
}
