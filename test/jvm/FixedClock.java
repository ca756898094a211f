import org.apache.kafka.common.utils.Time;

/** A clock that stands still, so that files come out the same every time. */
final class FixedClock implements Time {
    public long milliseconds() {
        return 1_700_000_005_000L;
    }

    public long nanoseconds() {
        return milliseconds() * 1_000_000;
    }

    public void sleep(long ms) { }
}
