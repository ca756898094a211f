package admin

// pieces gives out small slices of which one response has many, several of them
// from one piece of memory.
type pieces[T any] struct {
	free []T
	last int // how large the last piece was
}

// maxPiece is how many elements a piece has at most, unless one slice needs
// more.
const maxPiece = 4096

// take is an empty slice with room for n.
func (p *pieces[T]) take(n int) []T {
	if len(p.free) < n {
		p.last = max(n, min(2*p.last, maxPiece))
		p.free = make([]T, p.last)
	}
	out := p.free[:0:n]
	p.free = p.free[n:]
	return out
}
