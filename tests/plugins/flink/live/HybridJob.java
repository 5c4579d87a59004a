import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.base.source.hybrid.HybridSource;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Prints the lines of files, and then what a topic holds: PREFIX FOLDER TOPIC@SERVERS. */
public class HybridJob {
    public static void main(String[] args) throws Exception {
        String[] place = args[2].split("@");
        FileSource<String> files =
                FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(args[1])).build();
        KafkaSource<String> topic = KafkaSource.<String>builder()
                .setBootstrapServers(place[1])
                .setTopics(place[0])
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setValueOnlyDeserializer(new SimpleStringSchema())
                .setGroupId("hybrid")
                .build();
        HybridSource<String> source = HybridSource.builder(files).addSource(topic).build();
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.fromSource(source, WatermarkStrategy.noWatermarks(), "hybrid", Types.STRING)
                .uid("hybrid-source")
                .print(args[0]);
        environment.execute("hybrid");
    }
}
