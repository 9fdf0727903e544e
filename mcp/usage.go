package mcp

import (
	"context"

	"github.com/colaregistry/colaregistry/cola"
)

func usageTools() []tool {
	return []tool{newTool(tool{
		name: "get_usage", title: "Get usage and quotas",
		description: "Get this month's usage against the account's quotas (detail views and list records, " +
			"across all keys and apps) and its rate limit, and how current the data is (data_as_of). Use it " +
			"before reading many pages, or when the user asks how much is left.",
		cost:    free,
		example: `{}`,
	}, getUsage)}
}

func getUsage(
	ctx context.Context, svc Service, c cola.Caller, p cola.NoParams,
) (a toolResult, state cola.QuotaState, err error) {
	if err := p.Problems.Err(); err != nil {
		state, err := svc.Refuse(ctx, c, err)
		return a, state, err
	}
	usage, state, err := svc.Usage(ctx, c)
	if err != nil {
		return a, state, err
	}
	a.setData(view{detailed: true}.append(nil, usage))
	return a, state, nil
}
