import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.connector.kafka.dynamic.metadata.ClusterMetadata;
import org.apache.flink.connector.kafka.dynamic.metadata.KafkaMetadataService;
import org.apache.flink.connector.kafka.dynamic.metadata.KafkaStream;
import org.apache.flink.connector.kafka.dynamic.source.DynamicKafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Prints what one stream holds on several clusters: PREFIX, then for each cluster CLUSTER=TOPIC@SERVERS. */
public class DynamicJob {
    public static void main(String[] args) throws Exception {
        Map<String, ClusterMetadata> clusters = new HashMap<>();
        for (int at = 1; at < args.length; at++) {
            String[] parts = args[at].split("[=@]");
            Properties properties = new Properties();
            properties.setProperty("bootstrap.servers", parts[2]);
            clusters.put(parts[0], new ClusterMetadata(Set.of(parts[1]), properties));
        }
        DynamicKafkaSource<String> source = DynamicKafkaSource.<String>builder()
                .setKafkaMetadataService(new Fixed(new KafkaStream("stream", clusters)))
                .setStreamIds(Set.of("stream"))
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setDeserializer(KafkaRecordDeserializationSchema.valueOnly(StringDeserializer.class))
                .setProperty("stream-metadata-discovery-interval-ms", "500")
                .setGroupId("dynamic")
                .build();
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.fromSource(source, WatermarkStrategy.noWatermarks(), "dynamic").uid("dynamic-source").print(args[0]);
        environment.execute("dynamic");
    }

    /** Names the same stream at every look. */
    public static class Fixed implements KafkaMetadataService {
        private final KafkaStream stream;

        Fixed(KafkaStream stream) {
            this.stream = stream;
        }

        @Override
        public Set<KafkaStream> getAllStreams() {
            return Set.of(stream);
        }

        @Override
        public Map<String, KafkaStream> describeStreams(Collection<String> streamIds) {
            return Map.of(stream.getStreamId(), stream);
        }

        @Override
        public boolean isClusterActive(String kafkaClusterId) {
            return stream.getClusterMetadataMap().containsKey(kafkaClusterId);
        }

        @Override
        public void close() {}
    }
}
