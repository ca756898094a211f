// Package pause lets time pass, and no longer than somebody is waited for.
package pause

import (
	"context"
	"time"
)

// For returns nil after d, or the error of ctx once that has ended. A d of 0 or
// less is no pause.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
