// Creates a job by writing its definition onto the jobs topic, with Kafka's own client.
//
//   java -cp 'libs/*' PutJob.java localhost:9092 default/hello
//
// The key is tenant/job_id and picks the partition: Kafka's default partitioner is the right one.
// The value is JSON; the scheduler reads it, checks it and stores it in Avro. That the record is
// written does not say that it is accepted: a mistake leaves a `rejected` event (GET /v1/events).

import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

public class PutJob {
    private static final String DEFINITION = """
        {"schedule": {"cron": "0 7 * * MON-FRI", "timezone": "Europe/Berlin"},
         "handler": {"type": "noop"},
         "owner": "java",
         "payload": {"greeting": "Grüße"}}
        """;

    public static void main(String[] arguments) throws Exception {
        String brokers = arguments[0];
        String jobKey = arguments[1];
        String prefix = arguments.length > 2 ? arguments[2] : "tocsin";

        Properties properties = new Properties();
        properties.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers);
        properties.put(ProducerConfig.ACKS_CONFIG, "all");
        try (var producer =
                new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            var record = new ProducerRecord<>(prefix + ".jobs", jobKey, DEFINITION.strip());
            // Only where the job does not exist yet; an offset in its place means: only where the
            // job is at that revision.
            record.headers()
                .add("tocsin-if-revision", "none".getBytes(StandardCharsets.UTF_8));
            RecordMetadata written = producer.send(record).get();
            System.out.println(jobKey + " revision " + written.offset());
        }
    }
}
