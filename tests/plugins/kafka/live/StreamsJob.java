import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.state.Stores;

/**
 * An application of Kafka Streams that counts the records of TOPIC by their values, behind a repartition topic.
 *
 * BROKERS APPLICATION TOPIC FOLDER PROTOCOL COUNT: counts so many records and then no more, so that later ones wait in
 * the repartition topic; prints COUNTED, and ends at once when its input ends.
 */
public final class StreamsJob {
    public static void main(String[] given) throws Exception {
        long most = Long.parseLong(given[5]);
        AtomicLong counted = new AtomicLong();
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(given[2])
                .selectKey((key, value) -> value)
                .repartition(Repartitioned.<String, String>as("by-value").withNumberOfPartitions(1))
                .peek((key, value) -> {
                    if (counted.get() == most) {
                        waitForEver();
                    }
                })
                .groupByKey()
                .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")))
                .toStream()
                .foreach((key, value) -> {
                    if (counted.incrementAndGet() == most) {
                        System.out.println("COUNTED");
                    }
                });
        Properties properties = new Properties();
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, given[0]);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, given[1]);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, given[3]);
        properties.put("group.protocol", given[4]);
        properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 0);
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        properties.put("auto.offset.reset", "earliest");
        properties.put("max.poll.records", 1);
        new KafkaStreams(builder.build(), properties).start();
        while (System.in.read() >= 0) {
            // Nothing is said to it but that it ends.
        }
        Runtime.getRuntime().halt(0);
    }

    private static void waitForEver() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }
}
