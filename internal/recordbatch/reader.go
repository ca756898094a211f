package recordbatch

import (
	"errors"
	"fmt"
	"io"
)

// blockSize is how much of a file is read at once. A block holds whole
// batches, and grows when a single batch is larger.
const blockSize = 1 << 20

// blocksAhead is how many blocks a reader that reads ahead has: one in the
// caller's hands, one being filled.
const blocksAhead = 2

// Reader reads the batches of a segment or a snapshot file one after the
// other. Its memory is one block of 1 MiB (two, with ReadAhead), or of the
// largest batch.
//
// Next ends with io.EOF after the last batch, also where the rest of the file
// is zeros, as an unclean shutdown or preallocation leaves it. A file that
// ends inside a batch gives ErrPartial: a writer may be at work on it. Position
// then tells how far the file is sound.
//
// A Reader belongs to one goroutine.
type Reader struct {
	blocks   blocks
	pending  []Batch // of the current block, not yet returned
	position int64
	err      error
}

// blocks yields a file block by block. A block is valid until the next call.
// An error applies after the batches of the block that comes with it.
type blocks interface {
	next() (*block, error)
	close()
}

// block is a piece of a file: whole batches, each checked, and after them
// what could not be returned yet.
type block struct {
	buf     []byte // from the file; the batches alias it
	batches []Batch
	used    int // the bytes of the batches
}

func (b *block) tail() []byte { return b.buf[b.used:] }

// NewReader returns a Reader of src, whose first byte is byte position of the
// file: errors and Position count from there.
func NewReader(src io.Reader, position int64) *Reader {
	return &Reader{position: position, blocks: &inline{filler: filler{src: src, position: position}}}
}

// ReadAhead is NewReader with a goroutine that reads and checks batches while
// the caller works on earlier ones. Close ends it.
func ReadAhead(src io.Reader, position int64) *Reader {
	return &Reader{position: position, blocks: startPrefetch(filler{src: src, position: position})}
}

// Reset makes a Reader of NewReader start anew on src with the memory it has.
// Batches it returned before are valid no longer. One that reads ahead is
// closed first, and reads ahead no more.
func (r *Reader) Reset(src io.Reader, position int64) {
	in, ok := r.blocks.(*inline)
	if !ok {
		r.Close()
		in = new(inline)
	}
	in.filler = filler{src: src, position: position}
	in.block = block{buf: in.block.buf[:0], batches: in.block.batches[:0]}
	*r = Reader{blocks: in, position: position}
}

// Next returns the next batch, which is valid until the call after it. An
// error other than io.EOF is an *Error. It is final: later calls return it
// again.
func (r *Reader) Next() (Batch, error) {
	for len(r.pending) == 0 {
		if r.err != nil {
			return Batch{}, r.err
		}
		var b *block
		b, r.err = r.blocks.next()
		r.pending = b.batches
	}
	b := r.pending[0]
	r.pending = r.pending[1:]
	r.position += int64(b.Size)
	return b, nil
}

// Position is the byte of the file after the last batch that Next returned.
func (r *Reader) Position() int64 { return r.position }

// Close ends the goroutine of ReadAhead and waits for it; the source can be
// closed then. Next must not be called after it.
func (r *Reader) Close() { r.blocks.close() }

// inline reads a block when it is asked for one, always into the same buffer.
type inline struct {
	filler
	block block
}

func (i *inline) next() (*block, error) {
	return &i.block, i.fill(&i.block, i.block.tail())
}

func (i *inline) close() {}

// prefetch has a goroutine fill blocks that it gets back through free.
type prefetch struct {
	filler
	current *block
	free    chan *block
	filled  chan filled
	done    chan struct{}
}

type filled struct {
	block *block
	err   error
}

func startPrefetch(f filler) *prefetch {
	p := &prefetch{
		filler: f,
		free:   make(chan *block, blocksAhead),
		filled: make(chan filled, blocksAhead),
		done:   make(chan struct{}),
	}
	for range blocksAhead {
		p.free <- new(block)
	}
	go p.run()
	return p
}

// run fills blocks until the first error or until free is closed. The tail of
// a block is copied out of it before the block can come round again, since
// only this goroutine fills.
func (p *prefetch) run() {
	defer close(p.done)
	defer close(p.filled)
	var tail []byte
	for b := range p.free {
		err := p.fill(b, tail)
		tail = b.tail()
		p.filled <- filled{b, err} // never blocks: there are not more blocks
		if err != nil {
			return
		}
	}
}

func (p *prefetch) next() (*block, error) {
	if p.current != nil {
		p.free <- p.current
	}
	f := <-p.filled
	p.current = f.block
	return f.block, f.err
}

func (p *prefetch) close() {
	if p.free == nil {
		return
	}
	for len(p.free) > 0 {
		select {
		case <-p.free:
		default: // the goroutine was faster
		}
	}
	close(p.free)
	<-p.done
	p.free = nil
}

// filler reads blocks off a source.
type filler struct {
	src      io.Reader
	position int64 // of the first byte that is in no block's batches yet
}

// fill makes b the next block, which starts with tail: what the block before
// could not use. Its error, if any, applies after the batches.
func (f *filler) fill(b *block, tail []byte) error {
	if cap(b.buf) < blockSize {
		b.buf = make([]byte, blockSize)
	}
	b.buf = append(b.buf[:0], tail...) // a tail may be longer than this block
	n := len(tail)
	b.batches, b.used = b.batches[:0], 0
	for {
		m, readErr := io.ReadFull(f.src, b.buf[n:cap(b.buf)])
		n += m
		b.buf = b.buf[:n]
		err := f.split(b)
		f.position += int64(b.used)
		switch {
		case errors.Is(err, ErrPartial) && readErr == nil && b.used == 0:
			// One batch larger than the block: room grows with what has
			// arrived, whatever length the batch claims.
			b.grow()
		case errors.Is(err, ErrPartial) && readErr == nil:
			return nil
		case err == nil && readErr == nil:
			return nil
		case readErr != nil && !endOfFile(readErr):
			return f.fail(b, fmt.Errorf("read: %w", readErr))
		case zeros(b.tail()):
			return f.end(b, err, readErr)
		default:
			return f.fail(b, err)
		}
	}
}

// grow makes room for the batch that the block begins with, but for no more
// than twice what has arrived.
func (b *block) grow() {
	size := 2 * len(b.buf)
	if claimed, err := frameSize(b.buf); err == nil && claimed > len(b.buf) {
		size = min(size, claimed)
	}
	grown := make([]byte, len(b.buf), size)
	copy(grown, b.buf)
	b.buf = grown
}

func endOfFile(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// split finds the whole batches of b. Its error is about the bytes after.
func (f *filler) split(b *block) error {
	rest := b.buf
	for len(rest) > 0 {
		batch, after, err := Split(rest)
		if err != nil {
			return errors.Unwrap(err)
		}
		b.batches = append(b.batches, batch)
		b.used += batch.Size
		rest = after
	}
	return nil
}

// end tells the end of the file from damage, where zeros follow the last batch
// of b, or nothing: err is what is wrong with them as a batch, and readErr says
// whether the source has ended. Where it has, it is not read again: a writer
// may have appended since, and what is read then is another block's.
func (f *filler) end(b *block, err, readErr error) error {
	failure := f.fail(b, err)
	rest := b.buf[b.used:cap(b.buf)]
	for readErr == nil {
		var n int
		n, readErr = io.ReadFull(f.src, rest)
		switch {
		case !zeros(rest[:n]):
			return failure
		case readErr != nil && !endOfFile(readErr):
			return f.fail(b, fmt.Errorf("read: %w", readErr))
		case len(rest) == 0: // the block is full to the last byte
			rest = make([]byte, blockSize)
		}
	}
	return io.EOF
}

func (f *filler) fail(b *block, err error) error {
	return &Error{Position: f.position, Offset: baseOffset(b.tail()), Err: err}
}

func zeros(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}
