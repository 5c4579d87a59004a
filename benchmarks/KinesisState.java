import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.math.BigInteger;
import java.util.HashMap;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.state.api.OperatorIdentifier;
import org.apache.flink.state.api.SavepointReader;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Reads the shards of a KinesisStreamsSource by Flink's State Processor API; prints number, sum and time, per round. */
class KinesisState {
  public static void main(String[] given) throws Exception {
    var bytes = PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO;
    for (var round = 0; round < Integer.parseInt(given[2]); round++) {
      var begun = System.nanoTime();
      var environment = StreamExecutionEnvironment.createLocalEnvironment(2, new Configuration());
      var reader = SavepointReader.read(environment, given[0], new HashMapStateBackend());
      var elements = reader.readListState(
          OperatorIdentifier.forUid(given[1]), "SourceReaderState", bytes, BytePrimitiveArraySerializer.INSTANCE);
      var positions = new HashMap<String, BigInteger>();
      try (var found = elements.executeAndCollect()) {
        while (found.hasNext()) {
          var element = new DataInputStream(new ByteArrayInputStream(found.next()));
          element.skipBytes(8);
          element.readUTF();
          var shard = element.readUTF();
          element.readUTF();
          element.skipBytes(3);
          positions.put(shard, new BigInteger(element.readUTF()));
        }
      }
      var sum = positions.values().stream().reduce(BigInteger.ZERO, BigInteger::add);
      System.out.println(positions.size() + " " + sum + " " + (System.nanoTime() - begun) / 1_000_000);
    }
  }
}
