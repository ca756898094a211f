package recordbatch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// MaxDecompressedSize is the most bytes that the records of one batch may
// take once decompressed. Kafka's coordinator and its quorum bound a batch
// before they compress it, far below this.
const MaxDecompressedSize = 64 << 20

// maxZstdWindow is the window that RFC 8878 asks every decoder to support. It
// bounds what a frame header can make the decoder allocate; Kafka's default
// level uses a quarter of it.
const maxZstdWindow = 8 << 20

// maxSnappyRatio is above what the densest snappy element reaches, a
// three-byte copy of 64 bytes. A block that claims more is lying about its
// length, and nothing is allocated for it.
const maxSnappyRatio = 24

// inflater decompresses payloads into one buffer that it reuses. What a codec
// needs is made when the first batch uses it.
type inflater struct {
	buf   []byte
	input bytes.Reader
	gzip  *gzip.Reader
	lz4   *lz4.Reader
	zstd  *zstd.Decoder
}

// payload returns the records of b, decompressed.
func (f *inflater) payload(b *Batch) ([]byte, error) {
	p := b.payload()
	if b.Compression() == None {
		return p, nil
	}
	if len(p) == 0 { // compaction emptied the batch and kept its flags
		return p, nil
	}
	var err error
	if b.Compression() == Snappy {
		f.buf, err = appendSnappy(f.buf[:0], p)
	} else {
		f.buf, err = f.stream(b.Compression(), p)
	}
	return f.buf, err
}

// stream decompresses by one of the codecs that have a streaming reader. They
// are read through it, and not in one call, since a call would allocate what
// the frame claims to hold.
func (f *inflater) stream(c Compression, p []byte) ([]byte, error) {
	f.input.Reset(p)
	r, err := f.reader(c)
	if err != nil {
		return f.buf[:0], fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return readBounded(r, f.buf[:0], 4*len(p))
}

func (f *inflater) reader(c Compression) (io.Reader, error) {
	switch c {
	case Gzip:
		if f.gzip == nil {
			f.gzip = new(gzip.Reader)
		}
		return f.gzip, f.gzip.Reset(&f.input)
	case LZ4:
		if f.lz4 == nil {
			f.lz4 = lz4.NewReader(nil)
		}
		f.lz4.Reset(&f.input)
		return f.lz4, nil
	default:
		if f.zstd == nil {
			var err error
			f.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxZstdWindow))
			if err != nil {
				return nil, err
			}
		}
		return f.zstd, f.zstd.Reset(&f.input)
	}
}

// readBounded appends to dst all that r gives, up to MaxDecompressedSize. The
// buffer grows with what arrives; guess is where it starts.
func readBounded(r io.Reader, dst []byte, guess int) ([]byte, error) {
	if cap(dst) == 0 {
		dst = make([]byte, 0, max(guess, 4<<10))
	}
	for {
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > MaxDecompressedSize:
			return dst[:0], fmt.Errorf("%w: over %d bytes when decompressed", ErrTooLarge, MaxDecompressedSize)
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst[:0], fmt.Errorf("%w: %w", ErrCorrupt, err)
		case len(dst) == cap(dst):
			dst = append(dst, 0)[:len(dst)]
		}
	}
}

// xerialMagic starts the framing of snappy-java, which Kafka's Java clients
// and brokers write: the magic, two int32 versions, then blocks that have
// their length before them. Other clients write one bare block.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeaderSize = 16

func appendSnappy(dst, p []byte) ([]byte, error) {
	if !bytes.HasPrefix(p, xerialMagic) {
		return appendSnappyBlock(dst, p)
	}
	if len(p) < xerialHeaderSize {
		return dst, fmt.Errorf("%w: snappy stream ends in its header", ErrCorrupt)
	}
	for p = p[xerialHeaderSize:]; len(p) > 0; {
		if len(p) < 4 {
			return dst, fmt.Errorf("%w: snappy stream ends in a block length", ErrCorrupt)
		}
		n := binary.BigEndian.Uint32(p)
		if p = p[4:]; int64(n) > int64(len(p)) {
			return dst, fmt.Errorf("%w: snappy block of %d bytes, %d left", ErrCorrupt, n, len(p))
		}
		var err error
		if dst, err = appendSnappyBlock(dst, p[:n]); err != nil {
			return dst, err
		}
		p = p[n:]
	}
	return dst, nil
}

func appendSnappyBlock(dst, block []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if n > maxSnappyRatio*len(block) {
		return dst, fmt.Errorf("%w: snappy block of %d bytes claims to hold %d", ErrCorrupt, len(block), n)
	}
	start := len(dst)
	if start+n > MaxDecompressedSize {
		return dst, fmt.Errorf("%w: over %d bytes when decompressed", ErrTooLarge, MaxDecompressedSize)
	}
	if cap(dst)-start < n {
		dst = append(dst, make([]byte, n)...)[:start]
	}
	if _, err := snappy.Decode(dst[start:start+n], block); err != nil {
		return dst, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return dst[:start+n], nil
}
