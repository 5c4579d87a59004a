import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A share group.
 *
 * read BROKERS GROUP TOPIC COUNT OFFSET,…: reads so many records, accepts those at the offsets and releases the others,
 * and prints the offset and the value of each, then END.
 * begin BROKERS GROUP TOPIC OFFSET: sets where the group begins in partition 0, then prints END.
 */
public final class ShareJob {
    public static void main(String[] given) throws Exception {
        if (given[0].equals("begin")) {
            begin(given[1], given[2], given[3], Long.parseLong(given[4]));
        } else {
            read(given[1], given[2], given[3], Integer.parseInt(given[4]), offsets(given[5]));
        }
        System.out.println("END");
    }

    private static void begin(String brokers, String group, String topic, long offset) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", brokers))) {
            TopicPartition partition = new TopicPartition(topic, 0);
            admin.alterShareGroupOffsets(group, Map.of(partition, offset)).partitionResult(partition).get();
        }
    }

    private static void read(String brokers, String group, String topic, int count, Set<Long> accepted)
            throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", brokers))) {
            ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
            ConfigResource config = new ConfigResource(ConfigResource.Type.GROUP, group);
            AlterConfigOp set = new AlterConfigOp(earliest, AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(config, List.of(set))).all().get();
        }
        Properties properties = new Properties();
        properties.put("bootstrap.servers", brokers);
        properties.put("group.id", group);
        properties.put("share.acknowledgement.mode", "explicit");
        Map<Long, String> read = new HashMap<>();
        try (KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            // The start offset that brokers keep is moved by acknowledgements with the next ones: there are two rounds.
            for (int rounds = 0; read.size() < count || rounds < 2; ) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofSeconds(1));
                rounds += records.isEmpty() ? 0 : 1;
                for (ConsumerRecord<String, String> record : records) {
                    boolean done = accepted.contains(record.offset());
                    consumer.acknowledge(record, done ? AcknowledgeType.ACCEPT : AcknowledgeType.RELEASE);
                    read.put(record.offset(), record.value());
                }
                consumer.commitSync();
            }
        }
        read.forEach((offset, value) -> System.out.println(offset + " " + value));
    }

    private static Set<Long> offsets(String text) {
        Set<Long> offsets = new HashSet<>();
        for (String offset : text.split(",")) {
            offsets.add(Long.parseLong(offset));
        }
        return offsets;
    }
}
